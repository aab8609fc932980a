import NIOCore

extension ByteBuffer {
  /// The index of the first 00 00 01 in `start` ..< `end`, of which all three bytes lie inside.
  ///
  /// Looks at eight bytes at a time, since a NAL unit has no start code in it and all of it has to
  /// be looked at.
  func indexOfStartCode(from start: Int, to end: Int) -> Int? {
    let start = Swift.max(start, readerIndex)
    let end = Swift.min(end, writerIndex)
    guard end - start >= 3 else { return nil }
    let origin = readerIndex
    let found = unsafe withUnsafeReadableBytes { bytes -> Int? in
      guard let base = bytes.baseAddress else { return nil }
      var at = start - origin
      let last = end - origin - 3
      while at <= last {
        if at + 8 <= bytes.count {
          let word = unsafe base.loadUnaligned(fromByteOffset: at, as: UInt64.self)
          // Some byte is zero if taking 1 from each borrows into a high bit that was not set.
          if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 == 0 {
            at += 8
            continue
          }
        }
        let stop = min(at + 7, last)
        while at <= stop {
          if unsafe bytes[at] == 0, unsafe bytes[at + 1] == 0, unsafe bytes[at + 2] == 1 {
            return at
          }
          at += 1
        }
      }
      return nil
    }
    return found.map { $0 + origin }
  }
}

extension ByteBuffer {
  /// What follows the start code that a payload begins with, where only a NAL unit should be.
  var behindStartCode: ByteBuffer {
    var rest = self
    rest.skipStartCode()
    return rest
  }

  /// Moves past a start code that a payload begins with, where only a NAL unit should be.
  mutating func skipStartCode() {
    guard getInteger(at: readerIndex, as: UInt16.self) == 0 else { return }
    if getBytes(at: readerIndex, length: 3) == [0, 0, 1] {
      moveReaderIndex(forwardBy: 3)
    } else if getBytes(at: readerIndex, length: 4) == AnnexB.startCode {
      moveReaderIndex(forwardBy: 4)
    }
  }
}
