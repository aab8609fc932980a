import NIOCore
import RTPSend
import TestSupport
import Testing

@Suite struct AnnexBTests {
  @Test(
    arguments: [
      ([], []),
      ([0, 0, 1], []),
      ([9, 9, 0, 0, 1, 7], [[7]]),
      ([0, 0, 1, 7, 0, 0, 1, 8], [[7], [8]]),
      ([0, 0, 0, 1, 7, 0, 0, 0, 1, 8], [[7], [8]]),
      ([0, 0, 0, 0, 0, 1, 7, 5, 0, 0, 0, 0, 0, 1, 8, 0, 0], [[7, 5], [8]]),
      ([0, 0, 1, 7, 0, 0, 3, 1, 9], [[7, 0, 0, 3, 1, 9]]),
      ([0, 0, 1, 7, 0, 1, 9], [[7, 0, 1, 9]]),
      ([0, 0, 1, 0, 0, 1, 8], [[8]]),
      ([0, 0, 1, 1, 0, 0, 1, 8], [[1], [8]]),
      ([7, 8, 9], []),
    ] as [([UInt8], [[UInt8]])])
  func streamsAreCutAtStartCodes(stream: [UInt8], units: [[UInt8]]) {
    #expect(
      AnnexB.units(in: ByteBuffer(bytes: stream)).map { Array($0.readableBytesView) } == units)
    // The same at an offset in its storage.
    var shifted = ByteBuffer(bytes: [0, 0, 1] + stream + [0, 0, 1, 5])
    shifted.moveReaderIndex(forwardBy: 3)
    shifted.moveWriterIndex(to: 3 + stream.count)
    #expect(AnnexB.units(in: shifted).map { Array($0.readableBytesView) } == units)
  }

  /// The definition of §B.1.1, byte by byte.
  @Test func randomStreamsAreCutLikeTheStandardSays() {
    var dice = SeededGenerator(seed: 1)
    for _ in 0..<2000 {
      let stream = (0..<dice.number(upTo: 40)).map { _ in UInt8(dice.number(upTo: 4) - 1) }
      var units: [[UInt8]] = []
      var current: [UInt8]?
      for (index, byte) in stream.enumerated() {
        current?.append(byte)
        if index >= 2, stream[index - 2...index].elementsEqual([0, 0, 1]) {
          if let current { units.append(current.dropLast(3)) }
          current = []
        }
      }
      if let current { units.append(current) }
      let trimmed = units.map { unit in
        Array(unit.reversed().drop { $0 == 0 }.reversed())
      }.filter { !$0.isEmpty }
      #expect(
        AnnexB.units(in: ByteBuffer(bytes: stream)).map { Array($0.readableBytesView) } == trimmed)
    }
  }
}
