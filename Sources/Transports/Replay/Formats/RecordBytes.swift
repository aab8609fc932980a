internal import NIOCore

/// The bytes of a file, which arrive in reads and are handed out in pieces of known length.
///
/// Pieces are slices of the reads. Only a piece that spans reads is assembled, from bytes that have
/// come, whatever length the file claims.
struct RecordBytes: Sendable {
  /// What has been read and not yet taken.
  private var unread = ByteBuffer()
  /// The beginning of a piece that ends in a later read; precedes ``unread``.
  private var cut = ByteBuffer()
  /// How many bytes were handed out or skipped.
  private(set) var offset: UInt64 = 0

  /// How many bytes are available.
  var count: Int { cut.readableBytes + unread.readableBytes }

  /// Adds the bytes of a read; take pieces until there is none before adding the next one.
  mutating func append(_ bytes: ByteBuffer) {
    if unread.readableBytes > 0 { cut.writeBuffer(&unread) }
    unread = bytes
  }

  /// The next `count` bytes, or `nil` if fewer have come.
  mutating func take(_ count: Int) -> ByteBuffer? {
    guard cut.readableBytes == 0 else { return takeAcross(count) }
    guard let piece = unread.readSlice(length: count) else { return nil }
    offset += UInt64(count)
    return piece
  }

  /// Skips up to `count` bytes; returns how many.
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
      // Releases the read's slab for the next one.
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
