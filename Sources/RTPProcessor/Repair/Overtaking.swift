import RTPWire

/// Observed reordering delay; a younger gap is not yet a loss.
///
/// Only the last seconds count, so that a single incident is forgotten.
struct Overtaking: Sendable {
  private static let period: Int64 = 10_000_000_000

  private var longest: Int64 = 0
  private var longestBefore: Int64 = 0
  private var periodStart: Instant?

  /// Notes that a packet came `nanoseconds` after a later one.
  mutating func note(_ nanoseconds: Int64, at now: Instant) {
    turn(at: now)
    longest = max(longest, nanoseconds)
  }

  /// How many nanoseconds a packet may be overdue at `now` before it counts as missing.
  mutating func allowance(at now: Instant) -> Int64 {
    turn(at: now)
    let seen = min(max(longest, longestBefore), Self.period)
    // The next one may be a little later than those observed.
    return seen + seen / 4
  }

  private mutating func turn(at now: Instant) {
    let start = periodStart ?? now
    periodStart = start
    let elapsed = start.nanoseconds(to: now)
    guard elapsed > Self.period else { return }
    longestBefore = elapsed > 2 * Self.period ? 0 : longest
    longest = 0
    periodStart = now
  }
}
