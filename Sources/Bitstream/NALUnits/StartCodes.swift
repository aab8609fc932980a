public import NIOCore

extension ByteBuffer {
  /// The index of the first 00 00 01 that lies entirely in `start` ..< `end`.
  ///
  /// Every byte of a NAL unit is examined and nearly none begins a start code. So 64 positions at a
  /// time are checked for two zeros in a row.
  public func indexOfStartCode(from start: Int, to end: Int) -> Int? {
    let start = Swift.max(start, readerIndex)
    let end = Swift.min(end, writerIndex)
    guard end - start >= 3 else { return nil }
    let origin = readerIndex
    let found = unsafe withUnsafeReadableBytes { bytes -> Int? in
      guard let base = bytes.baseAddress else { return nil }
      var at = start - origin
      let last = end - origin - 3
      while at <= last {
        if at + 65 <= bytes.count {
          if unsafe !Self.hasTwoZeros(base + at) {
            at += 64
            continue
          }
        } else if bytes.count >= 65, unsafe !Self.hasTwoZeros(base + (bytes.count - 65)) {
          // The rest is shorter: it is checked once more with what precedes it.
          return nil
        }
        let stop = min(at + 63, last)
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

  /// Whether two zeros in a row begin at one of the first 64 positions; reads 65 bytes.
  @inline(__always)
  private static func hasTwoZeros(_ start: UnsafeRawPointer) -> Bool {
    // The compiler makes vectors of these. Of the operations on Swift's own, some become single
    // instructions and others do not, and to mix them costs shuffles.
    let ones: UInt64 = 0x0101_0101_0101_0101
    var borrows: UInt64 = 0
    for offset in stride(from: 0, to: 64, by: MemoryLayout<UInt64>.size) {
      let here = unsafe start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let next = unsafe start.loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self)
      // A byte is zero in both if subtracting 1 borrows into a high bit that was not set.
      let both = here | next
      borrows |= (both &- ones) & ~both
    }
    return borrows & 0x8080_8080_8080_8080 != 0
  }
}

extension ByteBuffer {
  /// The payload without a leading start code, which some senders put before a NAL unit.
  public var behindStartCode: ByteBuffer {
    var rest = self
    rest.skipStartCode()
    return rest
  }

  /// Skips a leading start code, which some senders put before a NAL unit.
  public mutating func skipStartCode() {
    guard getInteger(at: readerIndex, as: UInt16.self) == 0 else { return }
    if getBytes(at: readerIndex, length: 3) == [0, 0, 1] {
      moveReaderIndex(forwardBy: 3)
    } else if getBytes(at: readerIndex, length: 4) == AnnexB.startCode {
      moveReaderIndex(forwardBy: 4)
    }
  }
}
