public import NIOCore

/// A byte stream of NAL units with start codes (H.264 and H.265, Annex B).
public enum AnnexB {
  /// The four-byte form, which every reader accepts.
  public static let startCode: [UInt8] = [0, 0, 0, 1]

  /// The NAL units of `stream` as slices, without start codes and surrounding zeros.
  ///
  /// Accepts start codes of three and four bytes. Bytes before the first one are a NAL unit too: GW
  /// Security cameras put a start code after a parameter set instead of before it.
  public static func units(of stream: ByteBuffer) -> [ByteBuffer] {
    var units: [ByteBuffer] = []
    var start = stream.readerIndex
    while true {
      let next = stream.indexOfStartCode(from: start, to: stream.writerIndex)
      let end = stream.endWithoutZeros(from: start, to: next ?? stream.writerIndex)
      if end > start, let unit = stream.getSlice(at: start, length: end - start) {
        units.append(unit)
      }
      guard let next else { return units }
      start = next + 3
    }
  }

  /// `units` with a four-byte start code before each.
  public static func stream(of units: [ByteBuffer]) -> ByteBuffer {
    let length = units.reduce(0) { $0 + startCode.count + $1.readableBytes }
    var stream = ByteBufferAllocator().buffer(capacity: length)
    for unit in units {
      stream.writeBytes(startCode)
      stream.writeImmutableBuffer(unit)
    }
    return stream
  }
}

extension ByteBuffer {
  /// The end of the unit in `start` ..< `end` without trailing zeros, which are part of the next
  /// start code or padding (`trailing_zero_8bits`).
  public func endWithoutZeros(from start: Int, to end: Int) -> Int {
    var end = end
    while end > start, getInteger(at: end - 1, as: UInt8.self) == 0 { end -= 1 }
    return end
  }
}
