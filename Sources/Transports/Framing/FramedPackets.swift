internal import NIOCore

/// Packets in a stream of bytes, each behind its length, cut anywhere.
///
/// Packets are slices of the reads that brought them; only one that lies across reads is put
/// together. What is kept grows with the bytes that came, never with what a length claims. After an
/// error there is no going on: nothing in the stream says where the next length stands.
struct FramedPackets: Sendable {
  /// A length above the limit: this is no length, so framing is lost.
  struct ImpossibleLength: Error, Sendable, Hashable {
    var length: Int
    var limit: Int
  }

  /// Lengths of 0, behind which there is no packet.
  private(set) var emptyPackets: UInt64 = 0

  private let framing: PacketFraming
  private let limit: Int
  /// What has been read and not yet taken apart.
  private var unread = ByteBuffer()
  /// A packet of which the end has not come, from its length on; `unread` is empty meanwhile.
  private var cut = ByteBuffer()

  /// The largest packet that RTP in UDP, RTSP or RFC 4571 can have, in bytes.
  static let defaultLimit = 65_535

  init(_ framing: PacketFraming, limit: Int = Self.defaultLimit) {
    self.framing = framing
    self.limit = limit
  }

  /// Whether a packet has begun whose end has not come.
  var isInsidePacket: Bool { cut.readableBytes > 0 || unread.readableBytes > 0 }

  /// Takes the bytes of one read; pull ``next()`` until `nil` before the next one.
  mutating func append(_ bytes: ByteBuffer) {
    guard unread.readableBytes > 0 else { return unread = bytes }
    unread.writeImmutableBuffer(bytes)
  }

  /// The next packet that is there whole.
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

  /// Moves bytes from ``unread`` to ``cut`` until that has `count`, or there are no more.
  private mutating func take(upTo count: Int) {
    let missing = max(0, count - cut.readableBytes)
    guard let part = unread.readSlice(length: min(missing, unread.readableBytes)) else { return }
    cut.writeImmutableBuffer(part)
  }

  private mutating func keepRest() {
    cut.writeBuffer(&unread)
    // The slab of the read is free for the next one.
    unread = ByteBuffer()
  }

  /// The length at the front of `bytes`; `nil` when not all of it has come.
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
