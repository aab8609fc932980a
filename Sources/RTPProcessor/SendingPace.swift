import RTPWire

/// How fast a source sends now, by moments some seconds back and how far its numbers were then.
///
/// It is asked how many packets an outage of the network has taken.
struct SendingPace: Sendable {
  private struct Mark: Sendable {
    var time: Instant
    var highest: Int64
  }

  /// The time from one mark to the next in nanoseconds: longer than most groups of pictures.
  private static let interval: Int64 = 10_000_000_000

  /// The shortest silence that may be an outage of the network.
  private static let shortestOutage: Duration = .seconds(1)

  private var former: Mark
  private var latest: Mark

  /// Begins at `time`, when the highest number is `highest`.
  init(from time: Instant, highest: Int64) {
    latest = Mark(time: time, highest: highest)
    former = latest
  }

  /// Notes a packet after which the highest number is `highest`.
  mutating func note(_ arrival: Instant, highest: Int64) {
    guard latest.time.nanoseconds(to: arrival) > Self.interval else { return }
    (former, latest) = (latest, Mark(time: arrival, highest: highest))
  }

  /// How many packets the source would have sent during a `silence` after `last`, when the highest
  /// number was `highest`; `nil` if the silence is no outage, or the pace is not known yet.
  func packets(during silence: Duration, after last: Instant, highest: Int64) -> Double? {
    let before = former.time.duration(to: last)
    let sent = highest - former.highest
    guard min(silence, before) >= Self.shortestOutage, sent > 0 else { return nil }
    return Double(sent) * (silence / before)
  }
}
