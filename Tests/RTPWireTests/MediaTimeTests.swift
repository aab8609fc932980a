import RTPWire
import Testing

@Suite struct MediaTimeTests {
  @Test(
    "nanoseconds are rounded toward zero, and saturate",
    arguments: [
      (0, 90_000, 0), (1, 90_000, 11_111), (-1, 90_000, -11_111), (90_001, 90_000, 1_000_011_111),
      (-90_001, 90_000, -1_000_011_111), (.max, 1, .max), (.min, 1, .min),
      (.max, .max, 2_147_483_648_499_999_999), (5, 0, 5_000_000_000),
    ] as [(Int64, UInt32, Int64)])
  func nanoseconds(_ ticks: Int64, _ timescale: UInt32, _ expected: Int64) {
    #expect(MediaTime(ticks: ticks, timescale: timescale).nanoseconds == expected)
  }

  @Test(
    "the way from one to another saturates",
    arguments: [(0, 90_000, 1_000_000_000), (90_000, 0, -1_000_000_000), (.min, .max, .max)]
      as [(Int64, Int64, Int64)])
  func since(_ one: Int64, _ other: Int64, _ expected: Int64) {
    let start = MediaTime(ticks: one, timescale: 90_000)
    #expect(MediaTime(ticks: other, timescale: 90_000).nanoseconds(since: start) == expected)
  }
}
