import RTPWire
import Testing

@Suite struct InstantTests {
  @Test(
    arguments: [
      (0, 1, 1), (0, -1, -1), (.max, 1, .max), (.max, .max, .max), (.min, -1, .min),
      (.min, .min, .min), (.max, .min, -1), (.min, .max, -1), (5, .min, .min + 5),
    ] as [(Int64, Int64, Int64)])
  func addingSaturates(_ start: Int64, _ step: Int64, _ expected: Int64) {
    #expect(Instant(nanoseconds: start).advanced(byNanoseconds: step).nanoseconds == expected)
    #expect(start.addingSaturating(step) == expected)
  }

  @Test(
    arguments: [
      (0, 5, 5), (5, 0, -5), (.min, .max, .max), (.max, .min, .min), (0, .min, .min),
      (1, .min, .min), (-1, .max, .max), (.min, .min, 0), (.max, .max, 0), (.min, 0, .max),
    ] as [(Int64, Int64, Int64)])
  func theWayFromOneToAnotherSaturates(_ one: Int64, _ other: Int64, _ expected: Int64) {
    let distance = Instant(nanoseconds: one).nanoseconds(to: Instant(nanoseconds: other))
    #expect(distance == expected)
  }

  @Test(
    arguments: [
      (.zero, 0), (.nanoseconds(1), 1), (.milliseconds(-200), -200_000_000),
      (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
      (Duration(secondsComponent: 0, attosecondsComponent: -999_999_999), 0),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
      (.seconds(9_223_372_036), 9_223_372_036_000_000_000), (.seconds(9_223_372_037), .max),
      (.seconds(-9_223_372_037), .min),
      (
        Duration(secondsComponent: 9_223_372_036, attosecondsComponent: 900_000_000_000_000_000),
        .max
      ),
    ] as [(Duration, Int64)])
  func durationsAreWholeNanoseconds(_ duration: Duration, _ expected: Int64) {
    #expect(duration.wholeNanoseconds == expected)
  }

  @Test(arguments: [Int64.min, -1, 0, Int64.max])
  func anyDurationMayBeAdded(start: Int64) {
    for duration in [Duration.seconds(Int64.max), .seconds(Int64.min), .nanoseconds(-1)] {
      let end = Instant(nanoseconds: start).advanced(by: duration)
      #expect(end.nanoseconds == start.addingSaturating(duration.wholeNanoseconds))
    }
  }
}
