internal import NIOCore

/// Parses a stream of bytes in which each packet follows its length; reads may be cut anywhere.
///
/// Packets are slices of the reads that brought them; only a packet that spans reads is copied
/// together. Memory grows with the bytes received, never with the length they claim. After an error
/// the stream cannot be read any further: nothing shows where the next length is.
struct FramedPackets: Sendable {
  /// A length above the limit: the bytes are no length, so framing is lost.
  struct ImpossibleLength: Error, Sendable, Hashable {
    var length: Int
    var limit: Int
  }

  /// How many lengths were 0, with no packet after them.
  private(set) var emptyPackets: UInt64 = 0

  private let framing: PacketFraming
  private let limit: Int
  /// Bytes received and not yet parsed.
  private var unread = ByteBuffer()
  /// A packet whose end has not come yet, from its length on; `unread` is empty meanwhile.
  private var cut = ByteBuffer()

  /// The largest packet that RTP in UDP, RTSP or RFC 4571 can have, in bytes.
  static let defaultLimit = 65_535

  init(_ framing: PacketFraming, limit: Int = Self.defaultLimit) {
    self.framing = framing
    self.limit = limit
  }

  /// Whether a packet has begun but not ended.
  var isInsidePacket: Bool { cut.readableBytes > 0 || unread.readableBytes > 0 }

  /// Takes the bytes of one read; call ``next()`` until it returns `nil` before the next read.
  mutating func append(_ bytes: ByteBuffer) {
    guard unread.readableBytes > 0 else { return unread = bytes }
    unread.writeImmutableBuffer(bytes)
  }

  /// The next whole packet.
  mutating func next() throws(ImpossibleLength) -> ByteBuffer? {
    while true {
      if cut.readableBytes > 0 {
        guard let packet = try completeCut() else { return nil }
        if packet.readableBytes > 0 { return packet }
        continue
      }
      guard let length = try length(in: unread) else {
        keepRest()
        return nil
      }
      guard length > 0 else {
        emptyPackets += 1
        unread.moveReaderIndex(forwardBy: framing.prefixLength)
        continue
      }
      guard unread.readableBytes >= framing.prefixLength + length else {
        keepRest()
        return nil
      }
      unread.moveReaderIndex(forwardBy: framing.prefixLength)
      return unread.readSlice(length: length)
    }
  }

  /// The cut packet once its end has come, or an empty one when its length was 0.
  private mutating func completeCut() throws(ImpossibleLength) -> ByteBuffer? {
    take(upTo: framing.prefixLength)
    guard let length = try length(in: cut) else { return nil }
    take(upTo: framing.prefixLength + length)
    guard cut.readableBytes == framing.prefixLength + length else { return nil }
    defer { cut = ByteBuffer() }
    if length == 0 { emptyPackets += 1 }
    cut.moveReaderIndex(forwardBy: framing.prefixLength)
    return cut
  }

  /// Moves bytes from ``unread`` to ``cut`` until it has `count` bytes, or there are no more.
  private mutating func take(upTo count: Int) {
    let missing = max(0, count - cut.readableBytes)
    guard let part = unread.readSlice(length: min(missing, unread.readableBytes)) else { return }
    cut.writeImmutableBuffer(part)
  }

  private mutating func keepRest() {
    cut.writeBuffer(&unread)
    // Releases the slab of the read, so that the next read can use it.
    unread = ByteBuffer()
  }

  /// The length at the front of `bytes`; `nil` when it is incomplete.
  private func length(in bytes: ByteBuffer) throws(ImpossibleLength) -> Int? {
    let length: Int?
    switch framing {
    case .rtp4: length = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self).map(Int.init)
    case .rfc4571: length = bytes.getInteger(at: bytes.readerIndex, as: UInt16.self).map(Int.init)
    }
    guard let length else { return nil }
    guard length <= limit else { throw ImpossibleLength(length: length, limit: limit) }
    return length
  }
}
