/// A wall-clock time as RTCP carries it (RFC 3550 §4): seconds since 1900 in the upper 32 bits, the
/// fraction of a second in the lower ones.
public struct NTPTime: Sendable, Hashable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Nanoseconds since 1970 in UTC, leap seconds not counted.
  ///
  /// The seconds wrap in 2036; those below half their range are of the time after (RFC 4330 §3).
  public var nanosecondsSince1970: Int64 {
    let seconds = Int64(rawValue >> 32)
    let era: Int64 = seconds < 1 << 31 ? 1 << 32 : 0
    let fraction = ((rawValue & 0xFFFF_FFFF) * 1_000_000_000) >> 32
    return (seconds + era - Self.from1900To1970) * 1_000_000_000 + Int64(fraction)
  }

  private static let from1900To1970: Int64 = 2_208_988_800
}

extension NTPTime: CustomStringConvertible {
  /// ISO 8601 in UTC with microseconds, such as `2026-11-21T09:30:00.040000Z`.
  public var description: String {
    // Days before 1970 count downwards, the time within each of them upwards.
    let dayLength: Int64 = 86_400 * 1_000_000_000
    let inDay = (nanosecondsSince1970 % dayLength + dayLength) % dayLength
    let day = (nanosecondsSince1970 - inDay) / dayLength
    let second = inDay / 1_000_000_000
    let (year, month, monthDay) = Self.date(daysSince1970: day)
    func pad(_ number: Int64, _ digits: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
    return pad(year, 4) + "-" + pad(month, 2) + "-" + pad(monthDay, 2) + "T"
      + pad(second / 3600, 2) + ":" + pad(second / 60 % 60, 2) + ":" + pad(second % 60, 2) + "."
      + pad(inDay % 1_000_000_000 / 1000, 6) + "Z"
  }

  /// The Gregorian date; years are counted from March, so that a leap day is the last of its year.
  private static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // 1 March 2000 began a cycle of 400 years. NTP's range begins in 1968.
    let since2000 = days - 11_017
    let cycles = since2000 >= 0 ? since2000 / 146_097 : -1
    let inCycle = since2000 - cycles * 146_097
    let century = min(inCycle / 36_524, 3)
    let inCentury = inCycle - century * 36_524
    let quad = inCentury / 1461
    let inQuad = inCentury - quad * 1461
    let yearInQuad = min(inQuad / 365, 3)
    let dayOfYear = inQuad - yearInQuad * 365
    let marchMonth = (5 * dayOfYear + 2) / 153
    let year = 2000 + cycles * 400 + century * 100 + quad * 4 + yearInQuad
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    return marchMonth < 10 ? (year, marchMonth + 3, day) : (year + 1, marchMonth - 9, day)
  }
}
