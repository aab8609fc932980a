import Bitstream
import Defragment
import NIOCore
import TestSupport
import Testing

/// The scan for start codes looks at blocks; these hold it against looking at each byte.
@Suite("Start code scan")
struct StartCodeScanTests {
  /// Longer than two blocks, so that a start code lies in, across and after them.
  private static let offsets = 0...70

  @Test("A start code is found wherever it lies", arguments: offsets)
  func anywhere(at offset: Int) {
    for length in (offset + 3)...(offset + 40) {
      var stream = [UInt8](repeating: 7, count: length)
      stream.replaceSubrange(offset..<offset + 3, with: [0, 0, 1])
      #expect(units(of: stream) == Self.bytewise(stream))
    }
  }

  @Test("Zeros and ones in any mixture are split as byte by byte", arguments: [2, 3, 5, 9])
  func mixtures(oneIn sides: UInt64) {
    var random = SeededGenerator(seed: sides)
    func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }
    for _ in 0..<2_000 {
      let stream = (0..<roll(140)).map { _ in
        UInt8(truncatingIfNeeded: roll(sides) == 0 ? 1 + roll(255) : roll(2))
      }
      #expect(units(of: stream) == Self.bytewise(stream))
    }
  }

  @Test("Bytes after the end of a slice complete no start code")
  func sliceEnd() {
    var storage = ByteBuffer(repeating: 7, count: 40)
    storage.writeBytes([0, 0, 1, 9])
    let slice = storage.getSlice(at: 0, length: 42) ?? ByteBuffer()
    // The two zeros at the end are trailing zeros; the 1 is outside the slice.
    #expect(AnnexB.units(of: slice) == [ByteBuffer(repeating: 7, count: 40)])
  }

  /// The units of `stream`, which lies in its storage at no round address.
  private func units(of stream: [UInt8]) -> [[UInt8]] {
    var storage = ByteBuffer(repeating: 0, count: 5)
    storage.writeBytes(stream)
    storage.moveReaderIndex(forwardBy: 5)
    return AnnexB.units(of: storage).map { Array($0.readableBytesView) }
  }

  /// The same, the slow way.
  private static func bytewise(_ stream: [UInt8]) -> [[UInt8]] {
    var units: [[UInt8]] = [[]]
    var rest = stream[...]
    while let byte = rest.popFirst() {
      if byte == 0, rest.starts(with: [0, 1]) {
        rest = rest.dropFirst(2)
        units.append([])
      } else {
        units[units.count - 1].append(byte)
      }
    }
    return units.map { unit in
      Array(unit[..<((unit.lastIndex { $0 != 0 } ?? -1) + 1)])
    }.filter { !$0.isEmpty }
  }
}
