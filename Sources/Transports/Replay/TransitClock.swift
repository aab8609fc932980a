internal import RTPWire

/// Maps recorded times to this machine's clock: spaced as recorded, so that the pipe adds no
/// jitter, but never later than the packets came, and never much earlier.
struct TransitClock: Sendable {
  /// How many nanoseconds the pipe may be slower than at its fastest.
  static let longestDelay: Int64 = 1_000_000_000

  private(set) var latest = Instant(nanoseconds: .min)
  /// From the recording's clock to this one.
  private var offset: Int64?

  /// The arrival of a packet recorded at `time`; 0 means no time.
  mutating func arrival(ofRecorded time: Int64, readAt now: Instant) -> Instant {
    let delay = now.nanoseconds.subtractingSaturating(time)
    let known = offset ?? delay
    let isOdd = delay < known || delay.subtractingSaturating(known) > Self.longestDelay
    let own = isOdd || time == 0 ? delay : known
    offset = own
    latest = max(latest, min(now, Instant(nanoseconds: time.addingSaturating(own))))
    return latest
  }
}
