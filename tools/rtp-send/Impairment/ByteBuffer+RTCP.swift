import NIOCore

extension ByteBuffer {
  /// Replaces the integer at `index`, if it is there.
  mutating func change<Number: FixedWidthInteger>(
    at index: Int, _ change: (Number) -> Number
  ) {
    guard index + MemoryLayout<Number>.size <= writerIndex,
      let number = getInteger(at: index, as: Number.self)
    else { return }
    setInteger(change(number), at: index)
  }

  /// Goes through the packets of an RTCP compound: where each is, and its type.
  mutating func forEachRTCP(_ body: (Range<Int>, UInt8, inout ByteBuffer) -> Void) {
    var start = readerIndex
    while start + 4 <= writerIndex, let type = getInteger(at: start + 1, as: UInt8.self),
      let words = getInteger(at: start + 2, as: UInt16.self)
    {
      let end = min(start + 4 + 4 * Int(words), writerIndex)
      body(start..<end, type, &self)
      start = end
    }
  }
}
