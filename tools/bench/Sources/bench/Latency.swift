import Foundation
import Glibc

/// The time from sending a frame's last packet to reading the whole frame from the receiver's pipe.
enum Latency {
  struct Result {
    /// Milliseconds, the median over the frames after the first two seconds.
    let steady: Double
    /// Milliseconds for the very first frame.
    let first: Double
    /// How many of the sent frames came out.
    let received: Int
    let peakMemory: Double
  }

  static let width = 1280
  static let height = 720
  static let frames = 300

  static func stream(in folder: String) throws -> Stream {
    try Stream(
      name: "latency", source: "testsrc2=size=\(width)x\(height):rate=30",
      encoding: ["-preset", "veryfast", "-bf", "0", "-b:v", "4M", "-g", "60"], frames: frames,
      in: folder)
  }

  /// Sends the stream once at 30 frames a second to `peer` and measures when frames come out.
  static func measure(_ peer: Peer, of stream: Stream, golden: [UInt64: Int]) throws -> Result {
    let port = try UDPSocket.freePort()
    let receiver = try Running(peer.command(port, try stream.describe(port: port), "-"))
    guard waitUntilBound(port) else {
      throw BenchError(description: "\(peer.name) does not listen")
    }

    let reader = FrameReader(descriptor: receiver.output.fileHandleForReading.fileDescriptor)
    let thread = Thread { reader.run() }
    thread.start()

    let socket = try UDPSocket()
    var sent: [Double] = []
    let start = now()
    for packet in stream.packets {
      let due = start + Double(sent.count) / 30
      let wait = due - now()
      if wait > 0 { usleep(UInt32(wait * 1e6)) }
      socket.send(packet, to: port)
      if packet[1] & 0x80 != 0 { sent.append(now()) }
    }
    usleep(1_500_000)
    let memory = receiver.peakMemory
    receiver.kill()

    var delays: [Int: Double] = [:]
    for (hash, time) in reader.read() {
      guard let index = golden[hash], index < sent.count else { continue }
      delays[index] = min(delays[index] ?? .infinity, (time - sent[index]) * 1000)
    }
    let steady = delays.filter { $0.key >= 60 }.map(\.value)
    return Result(
      steady: median(steady), first: delays.min { $0.key < $1.key }?.value ?? .nan,
      received: delays.count, peakMemory: memory)
  }

  /// The fingerprint of every frame as FFmpeg decodes it, with its number.
  static func golden(of stream: Stream) throws -> [UInt64: Int] {
    let decode = try Running(["ffmpeg", "-v", "error", "-i", stream.clip, "-f", "rawvideo", "-"])
    let reader = FrameReader(descriptor: decode.output.fileHandleForReading.fileDescriptor)
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
  private let lock = NSLock()
  private var frames: [(hash: UInt64, time: Double)] = []

  init(descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, 1031 /* F_SETPIPE_SZ */, 1 << 20)
  }

  func read() -> [(hash: UInt64, time: Double)] { lock.withLock { frames } }

  func run() {
    let size = Latency.width * Latency.height * 3 / 2
    var frame = [UInt8](repeating: 0, count: size)
    while true {
      var filled = 0
      while filled < size {
        let count = frame.withUnsafeMutableBytes {
          Glibc.read(descriptor, $0.baseAddress?.advanced(by: filled), size - filled)
        }
        if count <= 0 { return }
        filled += count
      }
      let time = Latency.now()
      // FNV-1a over a sample of the bytes distinguishes all frames of the test pattern.
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for index in stride(from: 0, to: size, by: 61) {
        hash = (hash ^ UInt64(frame[index])) &* 0x100_0000_01B3
      }
      lock.withLock { frames.append((hash, time)) }
    }
  }
}

extension Latency {
  static func report(rounds: Int, in folder: String) throws {
    head(
      "Latency, 720p30 H.264 without B-frames, medians of \(rounds) rounds",
      ["receiver", "last packet → frame (ms)", "ratio", "first frame (ms)", "frames of 300", "MiB"])
    let stream = try stream(in: folder)
    let golden = try golden(of: stream)
    let peers = [
      Peer.ours(format: "yuv"), .gstreamerFrames(latency: 0), .gstreamerFrames(latency: nil),
      .ffmpegFrames,
    ]
    let results = try inRounds(rounds, peers) { try measure($0, of: stream, golden: golden) }
    let reference = median(results[1].map(\.steady))
    for (peer, results) in zip(peers, results) {
      let steady = median(results.map(\.steady))
      row([
        peer.name, number(steady), number(steady / reference), number(median(results.map(\.first))),
        "\(results.map(\.received).min() ?? 0)", number(median(results.map(\.peakMemory)), 0),
      ])
    }
  }
}
