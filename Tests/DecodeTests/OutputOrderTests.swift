import Bitstream
import Defragment
import TestSupport
import Testing

@testable import Decode

@Suite struct OutputOrderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var depth: Int?
    var usualStep = 2
    /// The order counts as the pictures are decoded; those that begin a sequence are given as 0.
    let counts: [Int]
    /// How many pictures have come out with each of them.
    let out: [Int]

    init(_ name: String, depth: Int?, step: Int = 2, _ counts: [Int], _ out: [Int]) {
      (testDescription, self.depth, usualStep) = (name, depth, step)
      (self.counts, self.out) = (counts, out)
    }
  }

  static let cases: [Case] = [
    Case(
      "no reordering, and the stream says so", depth: 0, [0, 2, 4, 6, 0, 2], [1, 2, 3, 4, 5, 6]),
    Case(
      "no reordering, and the stream says nothing", depth: nil, [0, 2, 4, 6, 8, 0, 2],
      [0, 1, 1, 4, 5, 6, 7]),
    Case("counts by one", depth: 0, step: 1, [0, 1, 2, 3], [1, 2, 3, 4]),
    Case(
      "the sender leaves pictures out", depth: 0, [0, 2, 8, 10, 16, 18], [1, 2, 2, 4, 5, 6]),
    Case(
      "a pyramid", depth: 2, [0, 8, 4, 2, 6, 16, 12, 10, 14, 24, 20, 18, 22],
      [0, 1, 1, 1, 5, 5, 5, 7, 9, 9, 9, 11, 13]),
    Case(
      "a pyramid of which the stream says nothing", depth: nil,
      [0, 8, 4, 2, 6, 16, 12, 10, 14, 24, 20, 18, 22], [0, 1, 1, 1, 5, 5, 5, 7, 9, 9, 9, 11, 13]),
    Case(
      "a pyramid that the stream says does not reorder", depth: 0,
      [0, 8, 4, 2, 6, 16, 12, 10, 14], [1, 1, 1, 3, 5, 5, 5, 7, 9]),
    Case(
      "a pyramid that the stream says reorders by one", depth: 1,
      [0, 8, 4, 2, 6, 16, 12, 10, 14], [0, 1, 1, 1, 5, 5, 5, 7, 9]),
    Case(
      "B pictures before a key picture that begins a sequence", depth: nil,
      [0, 0, -6, -4, -2, 8, 6], [0, 1, 1, 2, 5, 5, 5]),
    Case(
      "two pictures ahead", depth: nil, [0, 4, 8, 2, 12, 6, 16, 10, 20, 14],
      [0, 1, 1, 1, 3, 5, 5, 7, 7, 9]),
    Case(
      "the steps of H.265 become smaller", depth: 2, step: 1,
      [0, 4, 2, 8, 6, 12, 10, 16, 14, 13, 15], [0, 1, 1, 2, 3, 4, 5, 6, 7, 9, 11]),
    Case(
      "the steps of H.264 become smaller", depth: 2,
      [0, 8, 4, 16, 12, 24, 20, 32, 28, 26, 30], [0, 1, 1, 2, 3, 4, 5, 6, 7, 9, 11]),
    Case(
      "one B picture, and the stream says so", depth: 1, [0, 4, 2, 8, 6, 12, 10],
      [0, 1, 1, 3, 5, 5, 7]),
    Case(
      "one B picture of H.265, and the stream says so", depth: 1, step: 1, [0, 2, 1, 4, 3, 6, 5],
      [0, 1, 3, 3, 5, 5, 7]),
    Case(
      "one B picture, counts by one", depth: nil, [0, 2, 1, 4, 3, 6, 5], [0, 1, 3, 3, 5, 5, 7]),
  ]

  private func place(_ count: Int, _ row: Case) -> OutputOrder<Int>.Place {
    var order = PictureOrder(count: count)
    order.beginsSequence = count == 0
    order.reorderDepth = row.depth
    order.usualStep = row.usualStep
    return OutputOrder.Place(order: order, time: 0)
  }

  @Test("each picture comes out in its turn, as soon as that is certain", arguments: cases)
  func turns(_ row: Case) {
    var order = OutputOrder<Int>()
    var shown: [Int] = []
    var out: [Int] = []
    var sequence = 0
    var expected: [Int] = []
    for count in row.counts {
      if count == 0 { sequence += 1000 }
      expected.append(sequence + count)
      order.insert(sequence + count, at: place(count, row))
      while let next = order.next() { shown.append(next) }
      out.append(shown.count)
    }
    #expect(out == row.out)
    order.close()
    while let next = order.next() { shown.append(next) }
    #expect(shown == expected.sorted())
  }

  /// As HM with closed groups and x265 `--radl` at a cut send them: only later groups are led.
  @Test(
    "pictures before a later key picture, where none precede the first", arguments: [true, false])
  func radl(firstMayBeLed: Bool) {
    var order = OutputOrder<Int>()
    let row = Case("", depth: 2, step: 1, [], [])
    var shown: [Int] = []
    for (sequence, counts) in [[0, 4, 2, 1, 3], [0, -2, -3, -1, 4, 2], [0, -1, 1]].enumerated() {
      for count in counts {
        var place = place(count, row)
        if sequence == 0 { place.order.mayBeLed = firstMayBeLed }
        order.insert(100 * sequence + count, at: place)
        while let next = order.next() { shown.append(next) }
      }
    }
    order.close()
    while let next = order.next() { shown.append(next) }
    #expect(shown == shown.sorted() && shown.count == 14)
  }

  @Test("a picture that comes too late is shown, and the next ones are waited for")
  func late() {
    var order = OutputOrder<Int>()
    let row = Case("", depth: 0, [], [])
    var shown: [Int] = []
    for count in [0, 2, 1, 8, 6, 4, 5, 12, 10, 9, 11] {
      order.insert(count, at: place(count, row))
      while let next = order.next() { shown.append(next) }
    }
    #expect(shown.prefix(3) == [0, 2, 1])
    order.close()
    while let next = order.next() { shown.append(next) }
    #expect(shown.dropFirst(3) == [4, 5, 6, 8, 9, 10, 11, 12])
  }

  @Test(
    "counts that begin anew behind a loss are shown behind what was decoded before them",
    arguments: [false, true])
  func lostKeyPicture(timesStandStill: Bool) {
    var order = OutputOrder<Int64>()
    var shown: [Int64] = []
    // The times at which they are shown, by their counts; the key picture of the second row never
    // came.
    let rows: [[(Int, Int64)]] = [
      [(0, 0), (8, 4), (4, 2), (2, 1), (6, 3), (16, 8), (12, 6), (10, 5), (14, 7)],
      [(8, 13), (4, 11), (2, 10), (6, 12), (16, 17), (12, 15), (10, 14), (14, 16)],
    ]
    for (index, row) in rows.enumerated() {
      for (number, (count, time)) in row.enumerated() {
        var place = OutputOrder<Int64>.Place(
          order: PictureOrder(count: count), time: timesStandStill ? 0 : time)
        place.order.beginsSequence = count == 0
        place.order.reorderDepth = 2
        place.isBehindLoss = index == 1 && number == 0
        order.insert(time, at: place)
        while let next = order.next() { shown.append(next) }
      }
    }
    order.close()
    while let next = order.next() { shown.append(next) }
    #expect(shown == shown.sorted())
    #expect(shown.count == 17)
  }

  /// As `ffmpeg -c copy` sends a file without times: the packet lost was none of the pictures'.
  @Test func timesInDecodingOrderAreNotBelievedBehindALoss() {
    var order = OutputOrder<Int>()
    var shown: [Int] = []
    for (number, count) in [0, 8, 4, 2, 6, 16, 12, 10, 14].enumerated() {
      var place = OutputOrder<Int>.Place(
        order: PictureOrder(count: count), time: Int64(number))
      place.order.beginsSequence = count == 0
      place.order.reorderDepth = 2
      place.isBehindLoss = number == 1
      order.insert(count, at: place)
      while let next = order.next() { shown.append(next) }
    }
    order.close()
    while let next = order.next() { shown.append(next) }
    #expect(shown == shown.sorted())
    #expect(shown.count == 9)
  }

  @Test("whatever the counts are, no more than seventeen pictures wait, and each comes out once")
  func hostile() {
    var random = SeededGenerator(seed: 3)
    var order = OutputOrder<Int>()
    var shown: Set<Int> = []
    for number in 0..<20_000 {
      var place = OutputOrder<Int>.Place(
        order: PictureOrder(
          count: number % 3 == 0
            ? .random(in: -9...99, using: &random)
            : .random(in: Int(Int32.min)...Int(Int32.max), using: &random)),
        time: .random(in: -5...5, using: &random))
      place.order.beginsSequence = Int.random(in: 0..<40, using: &random) == 0
      place.order.reorderDepth = [nil, 0, 2, 16][number / 5000]
      place.isBehindLoss = Bool.random(using: &random)
      order.insert(number, at: Int.random(in: 0..<50, using: &random) == 0 ? nil : place)
      while let next = order.next() { #expect(shown.insert(next).inserted) }
      #expect(shown.count >= number - 16)
    }
    order.close()
    while let next = order.next() { #expect(shown.insert(next).inserted) }
    #expect(shown.count == 20_000)
  }

  @Test(
    "a pyramid of three B pictures waits for what its structure requires, and not longer",
    arguments: [VideoCodec.testH264, .testH265])
  func delay(_ codec: VideoCodec) throws {
    let clip = Clip(
      name: "pyramid", codec: codec, frames: 41, encoder: ["-bf", "3", "-g", "40"],
      h264Parameters: "b-adapt=0:b-pyramid=normal", codecParameters: "b-adapt=0:b-pyramid=1")
    let collector = Collector()
    let decoder = try PictureDecoder(
      codec: codec, configuration: VideoDecoder.Configuration(), threads: .one,
      onFrame: { collector.append(.frame($0)) }, onFailure: { collector.append(.failure($0)) })
    var out: [Int] = []
    for unit in clip.accessUnits(of: try clip.encoded()) {
      decoder.decode(unit)
      out.append(collector.frames.count)
    }
    // The P picture and the first B picture wait; the second one comes out with the first, and the
    // last one with the P picture.
    #expect(Array(out[5..<21]) == [5, 5, 7, 9, 9, 9, 11, 13, 13, 13, 15, 17, 17, 17, 19, 21])
  }
}
