import RTPWire
import Testing

/// What is said of a stream in several places.
struct MediaDescriptionTests {
  @Test(
    "a clock rate that is said is kept, also that of video",
    arguments: [
      (said: nil, described: 48_000, expected: 48_000),
      (said: 90_000, described: 48_000, expected: 90_000),
      (said: 8000, described: 90_000, expected: 8000),
      (said: nil, described: nil, expected: 90_000),
      (said: 0, described: 48_000, expected: 48_000),
    ] as [(said: UInt32?, described: UInt32?, expected: UInt32)])
  func clockRate(said: UInt32?, described: UInt32?, expected: UInt32) {
    let own = MediaDescription(clockRate: said)
    #expect(own.completed(by: MediaDescription(clockRate: described)).clockRate == expected)
  }
}
