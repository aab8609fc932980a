import RTPWire
import Testing

struct WallClockTimeTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var ntpTime: UInt64
    var nanoseconds: Int64
    var text: String
    var testDescription: String { text }
  }

  /// The seconds that `date -u -d TEXT +%s` prints.
  static let rows = [
    Row(
      ntpTime: 2_208_988_800 << 32, nanoseconds: 0, text: "1970-01-01T00:00:00.000000Z"),
    // The first day that NTP counts with its highest bit set.
    Row(
      ntpTime: 1 << 63, nanoseconds: -61_505_152_000_000_000, text: "1968-01-20T03:14:08.000000Z"),
    // The first second after the wrap, and half of the last one before it.
    Row(
      ntpTime: 0, nanoseconds: 2_085_978_496_000_000_000, text: "2036-02-07T06:28:16.000000Z"),
    Row(
      ntpTime: 0xFFFF_FFFF_8000_0000, nanoseconds: 2_085_978_495_500_000_000,
      text: "2036-02-07T06:28:15.500000Z"),
    Row(
      ntpTime: (2_208_988_800 + 951_782_400) << 32, nanoseconds: 951_782_400_000_000_000,
      text: "2000-02-29T00:00:00.000000Z"),
    Row(
      ntpTime: (2_208_988_800 + 1_709_251_199) << 32 | 0xFFFF_F000,
      nanoseconds: 1_709_251_199_999_999_046, text: "2024-02-29T23:59:59.999999Z"),
    Row(
      ntpTime: (2_208_988_800 + 1_795_251_942) << 32 | 0x4000_0000,
      nanoseconds: 1_795_251_942_250_000_000, text: "2026-11-21T09:05:42.250000Z"),
    // A device that has counted an hour since it was switched on.
    Row(
      ntpTime: 3600 << 32, nanoseconds: 2_085_982_096_000_000_000,
      text: "2036-02-07T07:28:16.000000Z"),
    Row(
      ntpTime: (1 << 63) - 1, nanoseconds: 4_233_462_144_000_000_000,
      text: "2104-02-26T09:42:24.000000Z"),
  ]

  @Test(arguments: rows)
  func anNTPTimeIsAPointInTime(row: Row) {
    let time = WallClockTime(ntpTime: row.ntpTime)
    #expect(time.nanoseconds == row.nanoseconds)
    #expect(time.description == row.text)
  }

  @Test(arguments: [0, 1, 999_999_999, 1_700_000_000_123_456_789, 4_233_000_000_000_000_001])
  func aTimeBecomesAnNTPTimeAndItselfAgain(nanoseconds: Int64) {
    let time = WallClockTime(nanoseconds: nanoseconds)
    #expect(WallClockTime(ntpTime: time.ntpTime) == time)
  }

  @Test func theEndsOfTheRangeAreTimesToo() {
    let (first, last) = (WallClockTime(nanoseconds: .min), WallClockTime(nanoseconds: .max))
    #expect(first.description == "1677-09-21T00:12:43.145224Z")
    #expect(last.description == "2262-04-11T23:47:16.854775Z")
    #expect(last.advanced(byNanoseconds: 1) == last)
    #expect(first.advanced(byNanoseconds: -1) == first)
    #expect(first < last)
  }

  /// Against a calendar that counts day by day, to the end of the range.
  @Test func everyDayFollowsTheOneBefore() {
    var (year, month, day) = (1970, 1, 1)
    for days in 0..<(292 * 365) {
      let time = WallClockTime(nanoseconds: Int64(days) * 86_400_000_000_000)
      let text = [(year, 4), (month, 2), (day, 2)].map { number, width in
        String(repeating: "0", count: width - "\(number)".count) + "\(number)"
      }.joined(separator: "-")
      guard time.description.hasPrefix(text + "T00:00:00") else {
        Issue.record("day \(days) is \(text), not \(time)")
        return
      }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      day += 1
      if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
  }
}
