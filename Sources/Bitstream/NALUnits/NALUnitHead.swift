public import NIOCore

/// The first bytes of a NAL unit, enough to recognize it.
public struct NALUnitHead: Sendable, Hashable {
  /// The first byte is in the highest bits; missing bytes are 0.
  private var bytes: UInt32
  public let count: Int

  /// The head of a whole unit.
  public init(of unit: ByteBuffer) {
    self.init(header: [], body: unit)
  }

  /// The head of a unit whose header and body are sent apart.
  public init(header: [UInt8], body: ByteBuffer) {
    bytes = 0
    var count = 0
    for byte in header {
      bytes |= UInt32(byte) << UInt32(24 - 8 * count)
      count += 1
    }
    while count < 4,
      let byte = body.getInteger(at: body.readerIndex + count - header.count, as: UInt8.self),
      count - header.count < body.readableBytes
    {
      bytes |= UInt32(byte) << UInt32(24 - 8 * count)
      count += 1
    }
    self.count = count
  }

  /// The byte at `index`, 0 … 3; 0 when the unit is shorter.
  public subscript(index: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: bytes >> UInt32(24 - 8 * min(max(index, 0), 3)))
  }
}

extension ByteBuffer {
  /// What follows the first `count` bytes; empty when there are fewer.
  public func dropping(bytes count: Int) -> ByteBuffer {
    getSlice(at: readerIndex + count, length: readableBytes - count) ?? ByteBuffer()
  }
}
