import Foundation
import Glibc

/// The time from sending the last packet that a frame needs to reading the whole frame from the
/// receiver's pipe.
///
/// A frame needs its own packets and those of all frames that are shown before it. With B pictures
/// that is the delay beyond what the structure of the stream requires.
enum Latency {
  struct Result {
    /// Milliseconds, the median over the frames after the first two seconds.
    let steady: Double
    /// Milliseconds for the very first frame.
    let first: Double
    /// How many of the sent frames came out.
    let received: Int
    let peakMemory: Double
    /// Seconds, with the start of the receiver.
    let processorTime: Double
  }

  private static let usualSize = (1280, 720)
  static let frames = 300

  static func stream(in folder: String) throws -> Stream {
    try stream(named: "latency", structure: ["-bf", "0"], in: folder)
  }

  /// Four slices a picture.
  static func slices(in folder: String) throws -> Stream {
    try stream(named: "slices", structure: ["-bf", "0", "-slices", "4"], in: folder)
  }

  /// Every fourth picture is a P picture, and the middle one of three B pictures is referred to.
  static func pyramid(in folder: String) throws -> Stream {
    try stream(
      named: "pyramid",
      structure: ["-bf", "3", "-x264-params", "b-adapt=0:b-pyramid=normal:scenecut=0"],
      container: "ts", in: folder)
  }

  static func stream(
    named name: String, _ size: (Int, Int) = usualSize, bitRate: String = "4M", structure: [String],
    container: String = "h264", in folder: String
  ) throws -> Stream {
    try Stream(
      name: name, source: "testsrc2=size=\(size.0)x\(size.1):rate=30",
      encoding: ["-preset", "veryfast"] + structure + ["-b:v", bitRate, "-g", "60"],
      frames: frames, container: container, in: folder)
  }

  /// Sends the stream once at 30 frames a second to `peer` and measures when frames come out.
  static func measure(
    _ peer: Peer, of stream: Stream, _ size: (Int, Int) = usualSize, golden: [UInt64: Int]
  ) throws -> Result {
    let port = try UDPSocket.freePort()
    let receiver = try Running(peer.command(port, try stream.describe(port: port), "-"))
    guard waitUntilBound(port) else {
      throw BenchError(description: "\(peer.name) does not listen")
    }

    let reader = FrameReader(
      descriptor: receiver.output.fileHandleForReading.fileDescriptor, size)
    let thread = Thread { reader.run() }
    thread.start()

    let socket = try UDPSocket()
    var sent: [(timestamp: UInt32, time: Double)] = []
    let start = now()
    for packet in stream.packets {
      let due = start + Double(sent.count) / 30
      let wait = due - now()
      if wait > 0 { usleep(UInt32(wait * 1e6)) }
      socket.send(packet, to: port)
      if packet[1] & 0x80 != 0 {
        sent.append((packet[4..<8].reduce(0) { $0 << 8 | UInt32($1) }, now()))
      }
    }
    usleep(1_500_000)
    let (memory, processorTime) = (receiver.peakMemory, receiver.processorTime)
    receiver.kill()

    let complete = completionTimes(of: sent)
    var delays: [Int: Double] = [:]
    for (hash, time) in reader.read() {
      guard let index = golden[hash], index < complete.count else { continue }
      delays[index] = min(delays[index] ?? .infinity, (time - complete[index]) * 1000)
    }
    let steady = delays.filter { $0.key >= 60 }.map(\.value)
    return Result(
      steady: median(steady), first: delays.min { $0.key < $1.key }?.value ?? .nan,
      received: delays.count, peakMemory: memory, processorTime: processorTime)
  }

  /// When the last packet that each frame needs was sent, in the order in which frames are shown.
  private static func completionTimes(of sent: [(timestamp: UInt32, time: Double)]) -> [Double] {
    guard let first = sent.first?.timestamp else { return [] }
    let shown = sent.sorted {
      Int32(bitPattern: $0.timestamp &- first) < Int32(bitPattern: $1.timestamp &- first)
    }
    var latest = -Double.infinity
    return shown.map { picture in
      latest = max(latest, picture.time)
      return latest
    }
  }

  /// The fingerprint of every frame as FFmpeg decodes it, with its number.
  static func golden(
    of stream: Stream, _ size: (Int, Int) = usualSize
  ) throws -> [UInt64: Int] {
    let decode = try Running(["ffmpeg", "-v", "error", "-i", stream.clip, "-f", "rawvideo", "-"])
    let reader = FrameReader(
      descriptor: decode.output.fileHandleForReading.fileDescriptor, size)
    reader.run()
    var golden: [UInt64: Int] = [:]
    for (index, frame) in reader.read().enumerated() { golden[frame.hash] = index }
    return golden
  }

  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Reads whole raw frames from a pipe and notes when each was complete.
private final class FrameReader: @unchecked Sendable {
  private let descriptor: Int32
  private let frameBytes: Int
  private let lock = NSLock()
  private var frames: [(hash: UInt64, time: Double)] = []

  init(descriptor: Int32, _ size: (Int, Int)) {
    self.descriptor = descriptor
    frameBytes = size.0 * size.1 * 3 / 2
    _ = fcntl(descriptor, 1031 /* F_SETPIPE_SZ */, 1 << 20)
  }

  func read() -> [(hash: UInt64, time: Double)] { lock.withLock { frames } }

  func run() {
    var frame = [UInt8](repeating: 0, count: frameBytes)
    while true {
      var filled = 0
      while filled < frameBytes {
        let count = frame.withUnsafeMutableBytes {
          Glibc.read(descriptor, $0.baseAddress?.advanced(by: filled), frameBytes - filled)
        }
        if count <= 0 { return }
        filled += count
      }
      let time = Latency.now()
      // FNV-1a over a sample of the bytes distinguishes all frames of the test pattern.
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for index in stride(from: 0, to: frameBytes, by: 61) {
        hash = (hash ^ UInt64(frame[index])) &* 0x100_0000_01B3
      }
      lock.withLock { frames.append((hash, time)) }
    }
  }
}

extension Latency {
  static func report(rounds: Int, in folder: String) throws {
    try report(try stream(in: folder), "H.264 without B pictures", rounds: rounds)
    if Arguments.isQuick { return }
    if !Arguments.isAll {
      try report(try slices(in: folder), "H.264 in four slices", rounds: rounds)
    }
    try report(try pyramid(in: folder), "H.264 with a pyramid of three B pictures", rounds: rounds)
  }

  private static func report(_ stream: Stream, _ kind: String, rounds: Int) throws {
    head(
      "Latency, 720p30 \(kind), medians of \(rounds) rounds",
      [
        "receiver", "last packet needed → frame (ms)", "ratio", "first frame (ms)",
        "frames of \(frames)", "MiB",
      ])
    let golden = try golden(of: stream)
    let peers =
      [
        Peer.ours(format: "yuv"), .gstreamerFrames(latency: 0), .gstreamerFrames(latency: nil),
      ] + Peer.ffmpegFrames + Peer.before(format: "yuv")
    let results = try inRounds(rounds, peers) { try measure($0, of: stream, golden: golden) }
    let reference = median(results[1].map(\.steady))
    for (peer, results) in zip(peers, results) {
      let steady = median(results.map(\.steady))
      row([
        peer.name, number(steady), number(steady / reference), number(median(results.map(\.first))),
        "\(results.map(\.received).min() ?? 0)", number(median(results.map(\.peakMemory)), 0),
      ])
    }
    let contenders = peers.map(\.contender)
    func report(_ what: String, unit: String = "ms", _ value: (Result) -> Double) {
      let medians = results.map { median($0.map(value)) }
      figure("\(what), 720p30 \(kind)", unit: unit, Figure.Value.of(contenders, medians))
    }
    report("Last packet needed → frame", \.steady)
    report("Last packet → first frame", \.first)
    report("Memory with raw frames", unit: "MiB", \.peakMemory)
  }
}
