import RTPWire
import Testing

@testable import Outputs

@Suite struct ContinuityTests {
  /// Times of pictures and of their arrivals, in milliseconds, and what is said of the last one.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var pictures: [(time: Int64, arrival: Int64)]
    /// Whether the last one is a key picture.
    var endsWithKey = false
    let reason: FileReason?
  }

  static let regular: [(time: Int64, arrival: Int64)] = (0..<10).map { ($0 * 40, $0 * 40) }

  static let cases: [Case] = [
    Case(testDescription: "regular pictures", pictures: regular, reason: nil),
    Case(
      testDescription: "B pictures", pictures: regular + [(480, 400), (400, 440), (440, 480)],
      reason: nil),
    Case(testDescription: "a burst after a stall", pictures: regular + [(400, 9000)], reason: nil),
    Case(
      testDescription: "a sender that begins with what it has stored",
      pictures: (0..<100).map { ($0 * 40, 0) }, reason: nil),
    Case(testDescription: "a short loss", pictures: regular + [(1500, 1500)], reason: nil),
    Case(
      testDescription: "nothing for ten seconds", pictures: regular + [(9000, 9000)],
      reason: .outage),
    Case(
      testDescription: "a clock that leaps forward", pictures: regular + [(9000, 400)],
      reason: .clock),
    Case(
      testDescription: "a clock that leaps back", pictures: regular + [(-9000, 400)],
      reason: .clock),
    Case(
      testDescription: "a clock that leaps back by half a second, up to a key picture",
      pictures: regular + [(-140, 400)], endsWithKey: true, reason: .clock),
    Case(
      testDescription: "a key picture whose time is a little early",
      pictures: regular + [(350, 400)], endsWithKey: true, reason: nil),
    Case(
      testDescription: "a picture every five seconds",
      pictures: (0..<10).map { ($0 * 5000, $0 * 5000) }, reason: nil),
  ]

  @Test(arguments: cases)
  func judges(_ example: Case) {
    var continuity = Continuity()
    var reasons: [FileReason?] = []
    for (index, picture) in example.pictures.enumerated() {
      reasons.append(
        continuity.judge(
          MediaTime(ticks: picture.time * 90, timescale: 90_000),
          arrival: Instant(nanoseconds: picture.arrival * 1_000_000),
          isKey: example.endsWithKey && index == example.pictures.count - 1))
    }
    #expect(reasons.last == .some(example.reason))
    #expect(reasons.dropLast().allSatisfy { $0 == nil })
  }

  @Test func extremeTimesDoNotTrap() {
    var continuity = Continuity()
    for ticks: Int64 in [0, .max, .min, 1, .max, .max - 1] {
      _ = continuity.judge(
        MediaTime(ticks: ticks, timescale: 1), arrival: Instant(nanoseconds: ticks))
    }
  }
}
