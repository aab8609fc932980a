import RTPProcessor
import Receiver
import Transports

/// Frames and bits a second over the last seconds, for the live line.
struct Rates {
  private(set) var frames = 0.0
  private(set) var bits = 0.0
  private var samples: [(at: Double, frames: UInt64, bytes: UInt64)] = []

  mutating func note(_ status: Receiver.Status, at elapsed: Duration) {
    let now = elapsed.seconds
    samples.append((now, status.delivery.frames, status.stream?.reception.receivedBytes ?? 0))
    while let first = samples.first, now - first.at > 2 { samples.removeFirst() }
    guard let first = samples.first, now > first.at, let last = samples.last else { return }
    frames = Double(last.frames &- first.frames) / (now - first.at)
    bits = Double(last.bytes &- first.bytes) * 8 / (now - first.at)
  }
}
