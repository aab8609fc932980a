import RTPWire

/// The longest delay observed in the last seconds, so that a single incident is forgotten.
struct DelayPeak: Sendable {
  private static let period: Duration = .seconds(10)

  private var longest: Duration = .zero
  private var longestBefore: Duration = .zero
  private var periodStart: Instant?

  /// Notes a delay that was observed at `now`.
  mutating func note(_ delay: Duration, at now: Instant) {
    turn(at: now)
    longest = max(longest, delay)
  }

  /// How long a delay is no surprise at `now`.
  mutating func allowance(at now: Instant) -> Duration {
    turn(at: now)
    let seen = min(max(longest, longestBefore), Self.period)
    // The next one may be a little longer than those observed.
    return seen + seen / 4
  }

  private mutating func turn(at now: Instant) {
    let start = periodStart ?? now
    periodStart = start
    let elapsed = start.duration(to: now)
    guard elapsed > Self.period else { return }
    longestBefore = elapsed > Self.period * 2 ? .zero : longest
    longest = .zero
    periodStart = now
  }
}
