import NIOCore

extension RTPPacket {
  /// The packet inside a RED packet (RFC 2198 §3): its primary encoding with the same header; `nil`
  /// if there is none.
  ///
  /// Redundant encodings are skipped; no sender of video uses them. Forward error correction
  /// protects the packet inside, since RED is added last (RFC 5109 §14.2).
  public var primaryEncoding: RTPPacket? {
    let payload = self.payload
    var headers = 0
    var redundant = 0
    while let block = payload.getInteger(at: payload.readerIndex + headers, as: UInt32.self),
      block & 0x8000_0000 != 0
    {
      redundant += Int(block & 0x3FF)
      headers += 4
    }
    guard let type = payload.getInteger(at: payload.readerIndex + headers, as: UInt8.self),
      type & 0x80 == 0, headers + 1 + redundant <= payload.readableBytes
    else { return nil }
    var storage = bytes.getSlice(
      at: bytes.readerIndex, length: bytes.readableBytes - payloadLength - paddingLength)
    storage?.writeImmutableBuffer(payload.dropping(headers + 1 + redundant))
    storage?.writeImmutableBuffer(bytes.dropping(bytes.readableBytes - paddingLength))
    guard var storage else { return nil }
    storage.setInteger(type | (marker ? 0x80 : 0), at: storage.readerIndex + 1)
    return try? RTPPacket(parsing: storage)
  }
}

extension ByteBuffer {
  /// The bytes after the first `count`.
  func dropping(_ count: Int) -> ByteBuffer {
    getSlice(at: readerIndex + count, length: readableBytes - count) ?? ByteBuffer()
  }
}
