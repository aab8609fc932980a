internal import NIOCore

/// The bytes of a file as its reads bring them, handed out in pieces of a known length.
///
/// Pieces are slices of the reads; only one that lies across reads is put together, from the bytes
/// that came, whatever a length in the file claims.
struct RecordBytes: Sendable {
  /// What has been read and not yet taken.
  private var unread = ByteBuffer()
  /// The beginning of a piece whose end lies in a later read; comes before ``unread``.
  private var cut = ByteBuffer()
  /// Bytes that have been handed out or skipped.
  private(set) var offset: UInt64 = 0

  /// Bytes that are there.
  var count: Int { cut.readableBytes + unread.readableBytes }

  /// Takes the bytes of one read; take pieces until there is none before the next one.
  mutating func append(_ bytes: ByteBuffer) {
    if unread.readableBytes > 0 { cut.writeBuffer(&unread) }
    unread = bytes
  }

  /// The next `count` bytes, or `nil` when not all of them have come.
  mutating func take(_ count: Int) -> ByteBuffer? {
    guard cut.readableBytes == 0 else { return takeAcross(count) }
    guard let piece = unread.readSlice(length: count) else { return nil }
    offset += UInt64(count)
    return piece
  }

  /// Passes over up to `count` bytes, and says how many.
  mutating func skip(_ count: Int) -> Int {
    let first = min(count, cut.readableBytes)
    cut.moveReaderIndex(forwardBy: first)
    let second = min(count - first, unread.readableBytes)
    unread.moveReaderIndex(forwardBy: second)
    offset += UInt64(first + second)
    return first + second
  }

  private mutating func takeAcross(_ count: Int) -> ByteBuffer? {
    guard self.count >= count else {
      cut.writeBuffer(&unread)
      // The slab of the read is free for the next one.
      unread = ByteBuffer()
      return nil
    }
    offset += UInt64(count)
    if let piece = cut.readSlice(length: count) { return piece }
    guard let rest = unread.readSlice(length: count - cut.readableBytes) else { return nil }
    cut.writeImmutableBuffer(rest)
    defer { cut = ByteBuffer() }
    return cut
  }
}
