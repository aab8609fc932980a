public import NIOCore

/// One RTP packet (RFC 3550 §5.1), validated once and then read through ranges of its own bytes.
public struct RTPPacket: Sendable {
  /// The fixed header's length in bytes.
  public static let minimumLength = RTPHeader.minimumLength

  public let header: RTPHeader
  /// The whole packet.
  ///
  /// Slices of it are handed out; it is never written to.
  public let bytes: ByteBuffer

  /// Reads the header of `bytes`, which must hold one packet and nothing else.
  ///
  /// - Throws: the first field that is wrong, with the expected and the actual size.
  public init(parsing bytes: ByteBuffer) throws(RTPPacketError) {
    header = try RTPHeader(parsing: bytes)
    self.bytes = bytes
  }

  /// The packet in `bytes`, whose header was read before.
  init(_ header: RTPHeader, in bytes: ByteBuffer) {
    self.header = header
    self.bytes = bytes
  }

  /// See ``RTPHeader``.
  public var marker: Bool { header.marker }
  public var payloadType: UInt8 { header.payloadType }
  public var sequenceNumber: SequenceNumber { header.sequenceNumber }
  public var timestamp: UInt32 { header.timestamp }
  public var ssrc: UInt32 { header.ssrc }
  public var extensionProfile: UInt16? { header.extensionProfile }
  public var contributingSourceCount: Int { header.contributingSourceCount }
  public var paddingLength: Int { header.paddingLength }

  /// The payload's length in bytes; 0 for a packet of only padding, which is valid.
  public var payloadLength: Int { bytes.readableBytes - header.payloadOffset - paddingLength }

  /// The payload as a slice of the packet's storage, without header, extension and padding.
  public var payload: ByteBuffer {
    slice(at: header.payloadOffset, length: payloadLength)
  }

  /// The header extension's data without its four-byte header; empty when there is none.
  public var extensionData: ByteBuffer {
    slice(at: header.payloadOffset - header.extensionLength, length: header.extensionLength)
  }

  /// The contributing sources in the order of the header.
  public var contributingSources: [UInt32] {
    (0..<contributingSourceCount).compactMap {
      bytes.getInteger(at: bytes.readerIndex + Self.minimumLength + 4 * $0)
    }
  }

  /// A copy with storage of its own.
  ///
  /// Packets that wait are copied, so that they do not keep the whole read in memory.
  public func detached() -> RTPPacket {
    var storage = ByteBufferAllocator().buffer(capacity: bytes.readableBytes)
    storage.writeImmutableBuffer(bytes)
    return RTPPacket(header, in: storage)
  }

  private func slice(at offset: Int, length: Int) -> ByteBuffer {
    // The ranges were checked against these very bytes, so the fallback is never taken.
    bytes.getSlice(at: bytes.readerIndex + offset, length: length) ?? ByteBuffer()
  }
}

extension Datagram {
  /// The RTP packet that it is, read here unless the transport has read its header.
  ///
  /// - Throws: the first field that is wrong, with the expected and the actual size.
  public func packet() throws(RTPPacketError) -> RTPPacket {
    if let header { return RTPPacket(header, in: bytes) }
    return try RTPPacket(parsing: bytes)
  }
}
