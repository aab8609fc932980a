import Foundation

/// A receiver, and what sends packets to it at a rate.
///
/// What is written goes to memory: the output of all runs would make the kernel write to a disk in
/// some of them.
struct PacedRun {
  let receiver: Running
  let sender: Running
  private let output: String
  private let payloadBytesPerPacket: Double

  /// Starts both, the sender as soon as the receiver listens.
  init(
    _ peer: Peer, _ stream: Stream, packets: String, rate: Int, seconds: Double
  ) throws {
    let port = try UDPSocket.freePort()
    output = "/dev/shm/rtp-recv-bench-\(port).h264"
    payloadBytesPerPacket = stream.payloadBytesPerPacket
    receiver = try Running(peer.command(port, try stream.describe(port: port), output))
    guard waitUntilBound(port) else {
      throw BenchError(description: "\(peer.name) does not listen")
    }
    sender = try Running([
      ".build/release/paced-sender", packets, "\(port)", "\(rate)", "\(seconds)",
    ])
  }

  /// How many packets have been written.
  func arrived() -> Double {
    let size = (try? FileManager.default.attributesOfItem(atPath: output)[.size] as? Int) ?? 0
    return Double(size) / payloadBytesPerPacket
  }

  /// Deletes what was written.
  func discard() { try? FileManager.default.removeItem(atPath: output) }
}
