/// A point on the monotonic clock, in nanoseconds since an unspecified start.
///
/// The core takes instants as parameters and reads no clock. All arithmetic saturates, so that no
/// clock reading, however wrong, can trap.
public struct Instant: Sendable, Hashable, Comparable {
  /// Nanoseconds since the clock's start; a virtual clock may begin at 0 or below.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The instant `nanoseconds` later, or earlier when negative; saturates at the ends of the range.
  public func advanced(byNanoseconds delta: Int64) -> Instant {
    Instant(nanoseconds: nanoseconds.addingSaturating(delta))
  }

  /// The instant `duration` later, or earlier when negative; saturates at the ends of the range.
  public func advanced(by duration: Duration) -> Instant {
    advanced(byNanoseconds: duration.wholeNanoseconds)
  }

  /// Nanoseconds from this instant to `other`, negative when `other` is earlier; saturates.
  public func nanoseconds(to other: Instant) -> Int64 {
    other.nanoseconds.subtractingSaturating(nanoseconds)
  }

  /// The time from here to `other`, negative when that is earlier; saturates.
  public func duration(to other: Instant) -> Duration { .nanoseconds(nanoseconds(to: other)) }
}

extension Duration {
  /// The duration in nanoseconds, rounded towards zero and saturated to 64 bits (±292 years).
  public var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    return scaled.addingSaturating(attoseconds / 1_000_000_000)
  }

  /// The duration in seconds, rounded to a `Double`.
  package var seconds: Double { Double(wholeNanoseconds) / 1e9 }
}
