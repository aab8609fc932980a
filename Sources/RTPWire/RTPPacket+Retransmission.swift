public import NIOCore

extension RTPPacket {
  /// The packet that a retransmission packet repeats (RFC 4588 §4), with its original number,
  /// payload type and SSRC; `nil` if the original number is missing.
  ///
  /// Servers that probe the bandwidth send retransmission packets without a payload.
  public func original(payloadType: UInt8, ssrc: UInt32) -> RTPPacket? {
    let payload = self.payload
    guard let number = payload.getInteger(at: payload.readerIndex, as: UInt16.self) else {
      return nil
    }
    let header = bytes.readableBytes - payloadLength - paddingLength
    var storage = bytes.getSlice(at: bytes.readerIndex, length: header)
    storage?.writeImmutableBuffer(payload.dropping(2))
    storage?.writeImmutableBuffer(bytes.dropping(bytes.readableBytes - paddingLength))
    guard var storage else { return nil }
    let start = storage.readerIndex
    storage.setInteger(payloadType & 0x7F | (marker ? 0x80 : 0), at: start + 1)
    storage.setInteger(number, at: start + 2)
    storage.setInteger(ssrc, at: start + 8)
    return try? RTPPacket(parsing: storage)
  }

  /// A retransmission packet for this one, with the next number of the retransmission stream.
  ///
  /// Padding is not repeated.
  public func retransmission(
    payloadType: UInt8, ssrc: UInt32, sequenceNumber: SequenceNumber
  ) -> ByteBuffer {
    let header = bytes.readableBytes - payloadLength - paddingLength
    var storage = ByteBufferAllocator().buffer(capacity: bytes.readableBytes + 2)
    storage.writeImmutableBuffer(bytes.getSlice(at: bytes.readerIndex, length: header) ?? bytes)
    storage.writeInteger(self.sequenceNumber.rawValue)
    storage.writeImmutableBuffer(payload)
    let first = storage.getInteger(at: storage.readerIndex, as: UInt8.self) ?? 0
    storage.setInteger(first & ~0x20, at: storage.readerIndex)
    storage.setInteger(payloadType & 0x7F | (marker ? 0x80 : 0), at: storage.readerIndex + 1)
    storage.setInteger(sequenceNumber.rawValue, at: storage.readerIndex + 2)
    storage.setInteger(ssrc, at: storage.readerIndex + 8)
    return storage
  }
}
