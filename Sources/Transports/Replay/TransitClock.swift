internal import RTPWire

/// Puts what was recorded elsewhere onto this machine's clock: spaced as it was recorded, so that
/// the pipe adds no jitter, but never later than it came, and never much earlier.
struct TransitClock: Sendable {
  /// Nanoseconds that the pipe may take longer than it took at its fastest.
  static let longestDelay: Int64 = 1_000_000_000

  private(set) var latest = Instant(nanoseconds: .min)
  /// From the recording's clock to this one.
  private var offset: Int64?

  /// When a packet arrived that was recorded at `time`; 0 stands for no time.
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
