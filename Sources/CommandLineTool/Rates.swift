import Decode
import RTPProcessor
import Receiver
import Reception
import Transports

/// Figures of the last two seconds, for the live line.
struct Rates {
  /// Frames a second.
  private(set) var frames = 0.0
  /// Access units a second.
  private(set) var units = 0.0
  /// Bits a second.
  private(set) var bits = 0.0
  /// Whether packets were lost.
  private(set) var hasLost = false
  /// Whether pictures came that are not intact.
  private(set) var hasDamaged = false
  /// Whether there is nothing that will change by itself.
  var areZero: Bool { frames == 0 && bits == 0 }
  private var samples: [Sample] = []

  /// In seconds.
  private static let window = 2.0

  private struct Sample {
    var at: Double
    var frames: UInt64
    var units: UInt64
    var bytes: UInt64
    var lost: UInt64
    var damaged: UInt64
  }

  mutating func note(_ status: Receiver.Status, at elapsed: Duration) {
    let now = elapsed.seconds
    let reception = status.stream?.reception
    let last = Sample(
      at: now, frames: status.delivery.frames, units: status.delivery.accessUnits,
      bytes: reception?.receivedBytes ?? 0,
      lost: reception?.lost ?? 0, damaged: status.delivery.notAsSent)
    if let idle = samples.last, now - idle.at > Self.window {
      // Nobody looked because nothing happened, so what came has just come.
      samples = [idle]
      samples[0].at = now
      return (frames, units, bits, hasLost, hasDamaged) = (0, 0, 0, false, false)
    }
    samples.append(last)
    while let first = samples.first, now - first.at > Self.window { samples.removeFirst() }
    guard let first = samples.first, now > first.at else { return }
    frames = Double(last.frames &- first.frames) / (now - first.at)
    units = Double(last.units &- first.units) / (now - first.at)
    bits = Double(last.bytes &- first.bytes) * 8 / (now - first.at)
    hasLost = last.lost > first.lost
    hasDamaged = last.damaged > first.damaged
  }
}

extension DeliveryStatistics {
  /// Frames that are not as they were sent.
  var notAsSent: UInt64 {
    [.concealed, .damaged, .repeated].reduce(0) { $0 + (conditions[$1] ?? 0) }
  }
}
