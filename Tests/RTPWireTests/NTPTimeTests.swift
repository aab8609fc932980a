import RTPWire
import Testing

@Suite struct NTPTimeTests {
  static let calendar: [(seconds: UInt64, fraction: UInt64, text: String)] = [
    (2_208_988_800, 0, "1970-01-01T00:00:00.000000Z"),
    (3_155_673_600, 0x8000_0000, "2000-01-01T00:00:00.500000Z"),
    (3_160_771_200, 0, "2000-02-29T00:00:00.000000Z"),
    (3_160_857_600, 0, "2000-03-01T00:00:00.000000Z"),
    (3_918_153_599, 0xFFFF_FFFF, "2024-02-28T23:59:59.999999Z"),
    (3_918_153_600, 0, "2024-02-29T00:00:00.000000Z"),
    (3_918_240_000, 0, "2024-03-01T00:00:00.000000Z"),
    (4_004_294_399, 0, "2026-11-21T23:59:59.000000Z"),
    (0xFFFF_FFFF, 0, "2036-02-07T06:28:15.000000Z"),
    (0, 0, "2036-02-07T06:28:16.000000Z"),
    (0x7FFF_FFFF, 0, "2104-02-26T09:42:23.000000Z"),
    (0x8000_0000, 0, "1968-01-20T03:14:08.000000Z"),
  ]

  @Test("times of the calendar", arguments: calendar)
  func text(_ seconds: UInt64, _ fraction: UInt64, _ text: String) {
    #expect(NTPTime(rawValue: seconds << 32 | fraction).description == text)
  }
}
