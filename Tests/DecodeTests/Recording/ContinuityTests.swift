import RTPWire
import Testing

@testable import Outputs

@Suite struct ContinuityTests {
  /// Times of pictures and of their arrivals, in milliseconds, and what is said of the last one.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var pictures: [(time: Int64, arrival: Int64)]
    /// What the last one is.
    var last = Continuity.Piece.picture(depth: nil)
    let reason: FileReason?
  }

  static let regular: [(time: Int64, arrival: Int64)] = (0..<10).map { ($0 * 40, $0 * 40) }

  static let cases: [Case] = [
    Case(testDescription: "regular pictures", pictures: regular, reason: nil),
    Case(
      testDescription: "B pictures", pictures: regular + [(480, 400), (400, 440), (440, 480)],
      reason: nil),
    Case(
      testDescription: "B pictures, one picture a second",
      pictures: [
        (0, 0), (4000, 4000), (2000, 5000), (1000, 6000), (3000, 7000), (8000, 8000), (6000, 9000),
      ], reason: nil),
    Case(
      testDescription: "sound a second and a half back",
      pictures: (0..<40).map { ($0 * 128, $0 * 128) }
        + [(3500, 5120)], last: .sound, reason: .clock),
    Case(
      testDescription: "ten pictures a second without B pictures, a second and a half back",
      pictures: (0..<20).map { ($0 * 100, $0 * 100) } + [(400, 2000)], last: .picture(depth: 0),
      reason: .clock),
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
      pictures: regular + [(-140, 400)], last: .keyPicture, reason: .clock),
    Case(
      testDescription: "a key picture whose time is a little early",
      pictures: regular + [(350, 400)], last: .keyPicture, reason: nil),
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
          index == example.pictures.count - 1 ? example.last : .picture(depth: example.last.depth),
          at: MediaTime(ticks: picture.time * 90, timescale: 90_000),
          arrival: Instant(nanoseconds: picture.arrival * 1_000_000)))
    }
    #expect(reasons.last == .some(example.reason))
    #expect(reasons.dropLast().allSatisfy { $0 == nil })
  }

  /// The way back is one too, or the file would have a hole as long as the leap.
  @Test(arguments: [-9_800_000, 9_800_000] as [Int64])
  func aLeapThereAndBack(by leap: Int64) {
    var continuity = Continuity()
    let away = [(400 + leap, Int64(400)), (440 + leap, 440)]
    let reasons = (Self.regular + away + [(480, 480), (520, 520)]).map {
      continuity.judge(
        .picture(depth: nil), at: MediaTime(ticks: $0.0 * 90, timescale: 90_000),
        arrival: Instant(nanoseconds: $0.1 * 1_000_000))
    }
    #expect(reasons.suffix(5) == [nil, .clock, nil, .clock, nil])
  }

  @Test func extremeTimesDoNotTrap() {
    var continuity = Continuity()
    for ticks: Int64 in [0, .max, .min, 1, .max, .max - 1] {
      _ = continuity.judge(
        .picture(depth: nil), at: MediaTime(ticks: ticks, timescale: 1),
        arrival: Instant(nanoseconds: ticks))
    }
  }
}
