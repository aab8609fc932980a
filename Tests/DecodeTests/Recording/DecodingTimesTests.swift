import TestSupport
import Testing

@testable import Outputs

@Suite struct DecodingTimesTests {
  /// Presentation times in decoding order, in units of a hundred ticks.
  struct Stream: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let depth: Int
    let presentations: [Int64]
    let expected: [Int64]
  }

  static let streams: [Stream] = [
    Stream(
      testDescription: "no reordering", depth: 0, presentations: [0, 1, 2, 3],
      expected: [0, 1, 2, 3]),
    Stream(
      testDescription: "one B picture between references", depth: 1,
      presentations: [0, 2, 1, 4, 3, 6, 5], expected: [-1, 0, 1, 2, 3, 4, 5]),
    Stream(
      testDescription: "a pyramid", depth: 2, presentations: [0, 4, 2, 1, 3, 8, 6, 5, 7],
      expected: [-2, -1, 0, 1, 2, 3, 4, 5, 6]),
    Stream(
      testDescription: "says that it reorders, and does not", depth: 2,
      presentations: [0, 1, 2, 3, 4], expected: [-2, -1, 0, 1, 2]),
    Stream(
      testDescription: "decodable leading pictures after the first key picture", depth: 2,
      presentations: [2, 0, 1, 5, 3, 4], expected: [-2, -1, 0, 1, 2, 3]),
    Stream(
      testDescription: "pictures that a loss took away", depth: 1,
      presentations: [0, 2, 1, 8, 7, 10, 9], expected: [-1, 0, 1, 2, 7, 8, 9]),
    Stream(
      testDescription: "a rate that changes", depth: 1, presentations: [0, 2, 1, 8, 5, 14, 11],
      expected: [-1, 0, 1, 2, 5, 8, 11]),
  ]

  @Test(arguments: streams)
  func follows(_ stream: Stream) {
    let presentations = stream.presentations.map { $0 * 100 }
    var times = DecodingTimes(depth: stream.depth, interval: 100, first: presentations)
    let placed = presentations.map { times.place($0) }
    #expect(placed.map(\.decoding) == stream.expected.map { $0 * 100 })
    #expect(placed.map(\.presentation) == presentations)
    #expect(times.moved == 0)
  }

  @Test("whatever times come, a container takes them", arguments: UInt64(0)..<40)
  func anything(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let presentations = (0..<200).map { _ in Int64.random(in: -5000...5000, using: &generator) }
    let depth = Int.random(in: 0...20, using: &generator)
    var times = DecodingTimes(depth: depth, interval: 100, first: presentations)
    var last = Int64.min
    for presentation in presentations {
      let place = times.place(presentation)
      #expect(place.decoding > last)
      #expect(place.presentation >= place.decoding)
      #expect(place.presentation >= presentation)
      last = place.decoding
    }
  }

  @Test func timesAtTheEndsOfTheRangeDoNotTrap() {
    let presentations: [Int64] = [.max, .min, 0, .max, .min]
    var times = DecodingTimes(depth: 3, interval: .max, first: presentations)
    for presentation in presentations { _ = times.place(presentation) }
    #expect(DecodingTimes.interval(of: presentations) != nil)
  }

  @Test("a stream that reorders further than it says is noticed")
  func tooShallow() {
    var times = DecodingTimes(depth: 0, interval: 100, first: [0])
    for presentation: Int64 in [0, 200, 100] { _ = times.place(presentation) }
    #expect(times.moved == 1)
  }

  @Test("pictures with one time follow each other, and are not reordered")
  func oneTime() {
    var times = DecodingTimes(depth: 0, interval: 3600, first: [0])
    let placed = [0, 0, 3600, 3600].map { times.place($0).decoding }
    #expect(placed == [0, 1, 3600, 3601])
    #expect(times.moved == 0)
  }

  @Test(
    "how far pictures are reordered can be seen",
    arguments: [
      ([0, 1, 2], 0), ([0, 2, 1, 4, 3], 1), ([0, 4, 2, 1, 3], 2), ([0, 8, 4, 2, 1, 3, 6, 5, 7], 3),
      ([], 0),
    ] as [([Int64], Int)])
  func depth(presentations: [Int64], expected: Int) {
    #expect(DecodingTimes.depth(of: presentations) == expected)
  }
}
