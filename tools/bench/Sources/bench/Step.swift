import Foundation
import Glibc

/// How far apart the flash and the click of the pattern leave `--pace`, as a player gets them.
///
/// The sound is delayed by 0 to 200 ms, 100 on average, and its clock runs 200 ppm too fast.
enum Step {
  private static let seconds = Arguments.isQuick ? 15 : Arguments.isAll ? 30 : 60
  /// What arrivals were wrong by is corrected slowly, so the first seconds do not count.
  private static let warmUp = 7
  private static let picturesPerSecond = 30
  private static let (width, height) = (256, 144)
  /// In the middle of the square at the lower right that flashes.
  private static let flashPlace = 117 * width + 237
  /// Samples of the sound in a packet, 20 ms.
  private static let block = 160

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Click after flash as they leave `--pace`, \(seconds) s, in milliseconds",
      ["round", "clicks", "median", "earliest", "latest"], names: [])
    for round in 1...rounds {
      let found = try measure(in: folder)
      row([
        "\(round)", "\(found.count)", number(median(found), 1), number(found.min() ?? .nan, 1),
        number(found.max() ?? .nan, 1),
      ])
    }
  }

  private static func measure(in folder: String) throws -> [Double] {
    let video = try UDPSocket.freePort()
    var sound = video
    // Each has its RTCP on the port above.
    while abs(Int(sound) - Int(video)) < 2 { sound = try UDPSocket.freePort() }
    let description = "\(folder)/step.sdp"
    try """
    v=0
    c=IN IP4 127.0.0.1
    m=video \(video) RTP/AVP 96
    a=rtpmap:96 H264/90000
    m=audio \(sound) RTP/AVP 0

    """.write(toFile: description, atomically: true, encoding: .utf8)
    let pipe = "\(folder)/step.pcm"
    unlink(pipe)
    guard mkfifo(pipe, 0o600) == 0 else { throw BenchError(description: "no \(pipe)") }
    let receiver = try Running([
      Peer.rtpRecv, description, "--pace", "--reorder-window", "300", "--quiet",
      "-o", "-", "--format", "yuv", "--pixel-format", "gray8", "-o", pipe,
    ])
    let clicks = Listing()
    let listener = Thread { clicks.fill { try Self.clicks(in: pipe) } }
    listener.start()
    guard waitUntilBound(video), waitUntilBound(sound) else {
      throw BenchError(description: "rtp-recv does not listen")
    }
    let sender = try Running([
      Peer.rtpSend, "pattern", "udp://127.0.0.1:\(video)", "--quiet", "--audio", "pcmu",
      "--audio-port", "\(sound)", "--audio-jitter", "33", "--audio-clock-ppm", "200",
      "--size", "\(width)x\(height)", "--bitrate", "300k",
      "--frames", "\((seconds + warmUp) * picturesPerSecond)",
    ])
    let flashes = try flashes(in: receiver.output.fileHandleForReading.fileDescriptor)
    _ = sender.waitUntilExit()
    _ = receiver.waitUntilExit()
    guard let first = flashes.first else { throw BenchError(description: "no flash came") }
    return try clicks.wait().filter { $0 > first + Double(warmUp) }.compactMap { click in
      flashes.map { (click - $0) * 1000 }.min { abs($0) < abs($1) }
    }
  }

  /// When the square became white, in seconds.
  private static func flashes(in descriptor: Int32) throws -> [Double] {
    var flashes: [Double] = []
    var wasLit = true
    var picture = [UInt8](repeating: 0, count: width * height)
    while read(&picture, from: descriptor) {
      let isLit = picture[flashPlace] > 125
      if isLit, !wasLit { flashes.append(Latency.now()) }
      wasLit = isLit
    }
    return flashes
  }

  /// When the loud sound began: a packet of samples leaves when its first one is due.
  private static func clicks(in path: String) throws -> [Double] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw BenchError(description: "cannot read \(path)") }
    defer { close(descriptor) }
    var clicks: [Double] = []
    var samples = [Int16](repeating: 0, count: block)
    while read(&samples, from: descriptor) {
      let now = Latency.now()
      guard let place = samples.firstIndex(where: { abs(Int($0)) > 8000 }) else { continue }
      let time = now + Double(place) / 8000
      if clicks.last.map({ time > $0 + 0.2 }) ?? true { clicks.append(time) }
    }
    return clicks
  }

  /// Fills an array; false at the end.
  private static func read<Value>(_ values: inout [Value], from descriptor: Int32) -> Bool {
    values.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      var count = 0
      while count < bytes.count {
        let more = Glibc.read(descriptor, start + count, bytes.count - count)
        guard more > 0 else { return false }
        count += more
      }
      return true
    }
  }

  /// What another thread finds.
  private final class Listing: @unchecked Sendable {
    private let isDone = DispatchSemaphore(value: 0)
    private var result: Result<[Double], any Error> = .success([])

    func fill(_ body: () throws -> [Double]) {
      result = Result(catching: body)
      isDone.signal()
    }

    func wait() throws -> [Double] {
      isDone.wait()
      return try result.get()
    }
  }
}
