/// A point in wall-clock time (UTC), in nanoseconds since 1970-01-01T00:00:00Z.
public struct WallClockTime: Sendable, Hashable, Comparable {
  /// Nanoseconds since 1970; the range reaches 292 years either way.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The time of an NTP timestamp: seconds since 1900 in the upper 32 bits, their fraction in the
  /// lower, rounded to the nearest nanosecond.
  ///
  /// The seconds wrap in 2036. Values without the highest bit are after that (RFC 4330 §3).
  public init(ntpTime: UInt64) {
    let wrapped = Int64(ntpTime >> 32)
    let seconds = wrapped - Self.secondsFrom1900To1970 + (wrapped < (1 << 31) ? (1 << 32) : 0)
    let fraction = (ntpTime & 0xFFFF_FFFF) * 1_000_000_000
    // At most the year 2106, far from the end of the range.
    nanoseconds = seconds * 1_000_000_000 + Int64((fraction + (1 << 31)) >> 32)
  }

  /// The time as an NTP timestamp: seconds since 1900 in the upper 32 bits, which wrap in 2036, and
  /// their fraction in the lower.
  public var ntpTime: UInt64 {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let isBefore = rest < 0
    let whole = seconds - (isBefore ? 1 : 0) + Self.secondsFrom1900To1970
    let fraction = UInt64(rest + (isBefore ? 1_000_000_000 : 0))
    return UInt64(bitPattern: whole) << 32 | (fraction << 32) / 1_000_000_000
  }

  public static func < (left: WallClockTime, right: WallClockTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The time `nanoseconds` later, or earlier when negative; saturates at the ends of the range.
  public func advanced(byNanoseconds delta: Int64) -> WallClockTime {
    WallClockTime(nanoseconds: nanoseconds.addingSaturating(delta))
  }

  private static let secondsFrom1900To1970: Int64 = 2_208_988_800
}

extension WallClockTime: CustomStringConvertible {
  /// ISO 8601 in UTC with microseconds, rounded down, such as `2026-11-21T09:05:42.016667Z`.
  public var description: String {
    let (days, time) = Self.divide(Self.divide(nanoseconds, by: 1000).whole, by: 86_400_000_000)
    let date = Self.date(ofDay: days)
    let seconds = time / 1_000_000
    return Self.padded(date.year, to: 4) + "-" + Self.padded(date.month, to: 2) + "-"
      + Self.padded(date.day, to: 2) + "T" + Self.padded(seconds / 3600, to: 2) + ":"
      + Self.padded(seconds / 60 % 60, to: 2) + ":" + Self.padded(seconds % 60, to: 2) + "."
      + Self.padded(time % 1_000_000, to: 6) + "Z"
  }

  /// The date in the Gregorian calendar, `day` days after 1970-01-01.
  ///
  /// Years are counted from March, so that a leap day is the last day of its year.
  private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // From 0000-03-01, in cycles of 400 years of equal length.
    let (cycle, dayOfCycle) = divide(day + 719_468, by: 146_097)
    let year =
      (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
    let dayOfYear = dayOfCycle - (365 * year + year / 4 - year / 100)
    // Any five consecutive months have 153 days.
    let month = (5 * dayOfYear + 2) / 153
    let isNextYear = month >= 10
    return (
      cycle * 400 + year + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  /// Divides with a remainder that is never negative.
  private static func divide(
    _ value: Int64, by divisor: Int64
  ) -> (whole: Int64, rest: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
