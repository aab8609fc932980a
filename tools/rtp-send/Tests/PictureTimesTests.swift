import Bitstream
import TestSupport
import Testing

@testable import RTPSend

/// Times of pictures that have none, by their order and their arrival, on a clock of 90 kHz.
@Suite struct PictureTimesTests {
  /// A picture in decoding order: its count, and whether a sequence begins.
  private func order(
    _ count: Int, begins: Bool = false, field: Field? = nil
  ) -> PictureOrder {
    var order = PictureOrder(count: count)
    (order.beginsSequence, order.field, order.usualStep) = (begins, field, 2)
    return order
  }

  private func steps(_ times: [Int64]) -> [Int64] { zip(times, times.dropFirst()).map { $1 - $0 } }

  /// Two groups of a P picture and a pyramid of three B pictures each, behind each key picture.
  private static let pyramid = [0, 8, 4, 2, 6, 16, 12, 10, 14]

  @Test func picturesOfAPyramidAreShownInTheOrderOfTheirCounts() {
    var times = PictureTimes(framesPerSecond: 25, isFixed: false)
    var shown: [Int64] = []
    for group in 0..<5 {
      for (index, count) in Self.pyramid.enumerated() {
        let number = Int64(group * Self.pyramid.count + index)
        let (presentation, decoding) = times.place(
          order(count, begins: index == 0), fields: 2, at: number * 3600)
        #expect(decoding == number * 3600)
        #expect(presentation == Int64(group * 9 + count / 2) * 3600)
        shown.append(presentation)
      }
    }
    #expect(Set(shown).count == shown.count)
  }

  @Test func whatJittersWhenItIsWrittenIsSentAtAConstantRate() {
    var dice = SeededGenerator(seed: 3)
    var times = PictureTimes(framesPerSecond: 25, isFixed: false)
    let placed = (0..<500).map { number in
      times.place(
        order(2 * number, begins: number == 0), fields: 2,
        at: Int64(number) * 3600 + Int64(dice.integer(below: 20_000))
      ).decoding
    }
    #expect(steps(placed).allSatisfy { $0 == 3600 })
  }

  /// A stream that says 25 pictures a second and has 50, or says 50 and has 25.
  @Test(arguments: [(25.0, Int64(1800)), (50.0, 3600)]) func aRateThatIsWrongIsMeasured(
    said: Double, interval: Int64
  ) throws {
    var times = PictureTimes(framesPerSecond: said, isFixed: false)
    let placed = (0..<1000).map { number in
      times.place(
        order(2 * number, begins: number == 0), fields: 2, at: Int64(number) * interval
      ).decoding
    }
    #expect(steps(placed).allSatisfy { $0 > 0 })
    #expect(steps(placed).suffix(500).allSatisfy { abs($0 - interval) <= 2 })
    // What was too early before the rate was known cannot be taken back, but does not grow.
    for (number, time) in placed.enumerated() {
      #expect(abs(time - Int64(number) * interval) < 180_000)
    }
  }

  /// What was written before anybody read it comes at once, and says nothing of the rate.
  @Test func aBacklogIsNoRate() {
    var times = PictureTimes(framesPerSecond: 25, isFixed: false)
    let placed = (0..<600).map { number in
      times.place(
        order(2 * number, begins: number == 0), fields: 2, at: Int64(max(0, number - 300)) * 3600
      ).decoding
    }
    #expect(steps(placed).allSatisfy { $0 == 3600 })
  }

  @Test func aRateThatSomebodySetIsKept() {
    var times = PictureTimes(framesPerSecond: 25, isFixed: true)
    let placed = (0..<500).map { number in
      times.place(
        order(2 * number, begins: number == 0), fields: 2, at: Int64(number) * 1800
      ).decoding
    }
    #expect(steps(placed).allSatisfy { $0 == 3600 })
  }

  @Test(arguments: [20, 200]) func aPauseOfTheWriterIsOneOfTheStream(begin: Int) {
    var times = PictureTimes(framesPerSecond: 25, isFixed: false)
    let placed = (0..<400).map { number in
      times.place(
        order(2 * number, begins: number == 0), fields: 2,
        at: Int64(number) * 3600 + (number < begin ? 0 : 900_000)
      ).decoding
    }
    for (number, step) in steps(placed).enumerated() {
      #expect(step == (number == begin - 1 ? 903_600 : 3600))
    }
  }

  @Test func aFieldTakesHalfOfTheTime() {
    var times = PictureTimes(framesPerSecond: 25, isFixed: false)
    for number in 0..<50 {
      let (presentation, decoding) = times.place(
        order(number, begins: number == 0, field: number % 2 == 0 ? .top : .bottom), fields: 1,
        at: Int64(number) * 1800)
      #expect(presentation == Int64(number) * 1800)
      #expect(decoding == presentation)
    }
  }

  /// A picture that is missing leaves a hole, and no other takes its time twice.
  @Test func noTwoPicturesHaveOneTimeWhereSomeAreMissing() {
    for missing in Self.pyramid.indices.dropFirst() {
      var times = PictureTimes(framesPerSecond: 25, isFixed: false)
      var shown: [Int64] = []
      for group in 0..<3 {
        for (index, count) in Self.pyramid.enumerated() where group != 1 || index != missing {
          let arrival = Int64(group * 9 + index) * 3600
          shown.append(
            times.place(order(count, begins: index == 0), fields: 2, at: arrival).presentation)
        }
      }
      #expect(Set(shown).count == shown.count, "\(missing)")
    }
  }

  @Test func whatIsShownAsItIsDecodedIsNotMoved() {
    var times = PictureTimes(framesPerSecond: 30, isFixed: false)
    for number in 0..<20 {
      var order = order(number % 3 == 0 ? 100 - number : number, begins: number == 0)
      order.isDecodingOrder = true
      let (presentation, decoding) = times.place(order, fields: 2, at: Int64(number) * 3000)
      #expect(presentation == decoding)
    }
  }
}
