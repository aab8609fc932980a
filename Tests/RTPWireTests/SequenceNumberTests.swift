import RTPWire
import TestSupport
import Testing

@Suite struct SequenceNumberTests {
  @Test(
    arguments: [
      (0, 0, 0), (0, 1, 1), (1, 0, -1), (65535, 0, 1), (0, 65535, -1), (0, 32767, 32767),
      (0, 32768, -32768), (32768, 0, -32768), (0, 32769, -32767), (32769, 0, 32767),
      (65000, 500, 1036), (500, 65000, -1036),
    ] as [(UInt16, UInt16, Int)])
  func isThisFarFromAnother(_ from: UInt16, _ to: UInt16, _ expected: Int) {
    #expect(SequenceNumber(from).distance(to: SequenceNumber(to)) == expected)
  }

  @Test(
    arguments: [
      (0, -1, 65535), (65535, 1, 0), (5, 65536, 5), (5, -65536, 5), (0, .max, 65535), (0, .min, 0),
    ] as [(UInt16, Int, UInt16)])
  func movesOnModuloItsRange(_ from: UInt16, _ count: Int, _ expected: UInt16) {
    #expect(SequenceNumber(from).advanced(by: count) == SequenceNumber(expected))
  }

  @Test func everyNumberIsFollowedByOneThatIsOneAway() {
    for raw in UInt16.min ... .max {
      let number = SequenceNumber(raw)
      #expect(number.distance(to: number.next) == 1)
    }
  }

  @Test func theWayThereIsTheDistance() {
    var noise = SeededGenerator(seed: 1982)
    for _ in 0..<10_000 {
      let one = SequenceNumber(UInt16.random(in: .min ... .max, using: &noise))
      let other = SequenceNumber(UInt16.random(in: .min ... .max, using: &noise))
      #expect(one.advanced(by: one.distance(to: other)) == other)
      #expect((-32768...32767).contains(one.distance(to: other)))
    }
  }
}

@Suite struct SequenceUnwrapperTests {
  @Test(arguments: [0, 1, 32767, 32768, 65534, 65535] as [UInt16])
  func aStreamThatWrapsThreeTimesCountsOn(start: UInt16) {
    var unwrapper = SequenceUnwrapper(first: SequenceNumber(start))
    var number = SequenceNumber(start)
    let first = unwrapper.extend(number)
    #expect(first == 65536 + Int64(start))
    for expected in first..<(first + 3 * 65536 + 10) {
      guard unwrapper.extend(number) == expected else {
        Issue.record("\(number.rawValue) became \(unwrapper.extend(number)), not \(expected)")
        return
      }
      unwrapper.advance(to: expected)
      number = number.next
    }
  }

  @Test func aPacketFromBeforeTheFirstIsNotNegative() {
    let unwrapper = SequenceUnwrapper(first: SequenceNumber(0))
    #expect(unwrapper.extend(SequenceNumber(65535)) == 65535)
    #expect(unwrapper.extend(SequenceNumber(32768)) == 32768)
  }

  @Test(arguments: [Int64.min, Int64.min + 1, -1, 0, Int64.max - 1, Int64.max])
  func theEndsOfTheRangeDoNotTrap(reference: Int64) {
    var unwrapper = SequenceUnwrapper(first: SequenceNumber(7))
    unwrapper.advance(to: reference)
    let last = SequenceNumber(UInt16(truncatingIfNeeded: reference))
    for distance in [-32768, -1, 0, 1, 32767] {
      let extended = unwrapper.extend(last.advanced(by: distance))
      #expect(extended == reference &+ Int64(distance))
    }
  }
}
