import RTPProcessor
import Receiver
import Reception

/// What the last minutes of a stream were like, second by second.
struct MonitorHistory: Sendable {
  struct Sample: Sendable, Hashable {
    /// In seconds since the start.
    var at = 0.0
    /// What came since the sample before.
    var change = StreamTotals()
    /// Of the video, or of the sound where that is all there is; in milliseconds.
    var jitter = 0.0
    /// In milliseconds.
    var latency = 0.0
  }

  /// The latest, at most five minutes of them.
  private(set) var samples: [Sample] = []
  private var former = StreamTotals()

  private static let most = 300
  /// In seconds.
  private static let interval = 1.0

  /// Notes what has come so far, once a second.
  mutating func note(_ status: Receiver.Status, at elapsed: Duration) {
    let totals = StreamTotals(status, at: elapsed)
    // Another run has begun.
    if totals.seconds < former.seconds { former = StreamTotals() }
    let change = totals.since(former)
    guard change.seconds >= Self.interval else { return }
    former = totals
    let reception = status.stream?.reception
    let hasPictures = (reception?.delivered ?? 0) > 0
    if samples.count >= Self.most { samples.removeFirst() }
    samples.append(
      Sample(
        at: totals.seconds, change: change,
        jitter: (hasPictures ? reception?.jitterSeconds ?? 0 : status.stream?.sound?.jitter ?? 0)
          * 1000,
        latency: status.delivery.latency / 1e6))
  }

  /// What was lost, damaged or dropped in the last `seconds`.
  func harm(within seconds: Double) -> (lost: UInt64, damaged: UInt64, dropped: UInt64) {
    guard let last = samples.last else { return (0, 0, 0) }
    return samples.reversed().prefix {
      // Those of an earlier run are from before its beginning.
      $0.at <= last.at && last.at - $0.at < seconds
    }.reduce((0, 0, 0)) {
      ($0.0 &+ $1.change.lost, $0.1 &+ $1.change.damaged, $0.2 &+ $1.change.dropped)
    }
  }
}
