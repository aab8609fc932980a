import Outputs
import RTPProcessor
import Receiver
import Reception
import Transports

/// What the last minutes of a stream were like, second by second.
struct MonitorHistory: Sendable {
  struct Sample: Sendable, Hashable {
    /// In seconds since the start.
    var at = 0.0
    var bitsPerSecond = 0.0
    var lossPercentage = 0.0
    /// Of the video, or of the sound where that is all there is; in milliseconds.
    var jitter = 0.0
    /// Frames or, where nothing is decoded, access units.
    var picturesPerSecond = 0.0
    /// In milliseconds.
    var latency = 0.0
    /// What came to harm: packets, pictures, and what an output dropped.
    var lost: UInt64 = 0
    var damaged: UInt64 = 0
    var dropped: UInt64 = 0
  }

  private struct Totals: Sendable {
    var at = 0.0
    var bytes: UInt64 = 0
    var delivered: UInt64 = 0
    var lost: UInt64 = 0
    var pictures: UInt64 = 0
    var damaged: UInt64 = 0
    var dropped: UInt64 = 0
  }

  /// The latest, at most five minutes of them.
  private(set) var samples: [Sample] = []
  private var former = Totals()

  private static let most = 300
  /// In seconds.
  private static let interval = 1.0

  /// Notes what has come so far, once a second.
  mutating func note(_ status: Receiver.Status, decodes: Bool, at elapsed: Duration) {
    let now = elapsed.seconds
    // Another run has begun.
    if now < former.at { former = Totals() }
    let time = now - former.at
    guard time >= Self.interval else { return }
    let sound = status.stream?.sound
    let tracks = [status.stream?.reception, sound?.reception].compactMap(\.self)
    func sum(_ counter: KeyPath<ReceptionStatistics, UInt64>) -> UInt64 {
      tracks.reduce(0) { $0 &+ $1[keyPath: counter] }
    }
    let delivery = status.delivery
    let totals = Totals(
      at: now, bytes: sum(\.receivedBytes), delivered: sum(\.delivered), lost: sum(\.lost),
      pictures: decodes ? delivery.frames : delivery.accessUnits,
      damaged: delivery.notAsSent &+ delivery.damagedAccessUnits,
      dropped: delivery.droppedBeforeDecoder
        &+ status.outputs.reduce(0) { $0 &+ $1.counters.dropped })
    func gain(_ counter: KeyPath<Totals, UInt64>) -> UInt64 {
      let (new, old) = (totals[keyPath: counter], former[keyPath: counter])
      return new > old ? new - old : 0
    }
    let (delivered, lost) = (gain(\.delivered), gain(\.lost))
    let hasPictures = (status.stream?.reception.delivered ?? 0) > 0
    let sample = Sample(
      at: now, bitsPerSecond: Double(gain(\.bytes)) * 8 / time,
      lossPercentage: lost == 0 ? 0 : 100 * Double(lost) / Double(lost + delivered),
      jitter: (hasPictures ? status.stream?.reception.jitterSeconds ?? 0 : sound?.jitter ?? 0)
        * 1000,
      picturesPerSecond: Double(gain(\.pictures)) / time, latency: delivery.latency / 1e6,
      lost: lost, damaged: gain(\.damaged), dropped: gain(\.dropped))
    former = totals
    if samples.count >= Self.most { samples.removeFirst() }
    samples.append(sample)
  }

  /// What was lost, damaged or dropped in the last `seconds`.
  func harm(within seconds: Double) -> (lost: UInt64, damaged: UInt64, dropped: UInt64) {
    guard let last = samples.last else { return (0, 0, 0) }
    return samples.reversed().prefix {
      // Those of an earlier run are from before its beginning.
      $0.at <= last.at && last.at - $0.at < seconds
    }.reduce((0, 0, 0)) {
      ($0.0 &+ $1.lost, $0.1 &+ $1.damaged, $0.2 &+ $1.dropped)
    }
  }
}
