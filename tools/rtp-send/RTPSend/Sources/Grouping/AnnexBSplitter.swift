import Bitstream
import NIOCore
import RTPWire

/// Takes the NAL units out of a byte stream (H.264 and H.265, Annex B) that comes in pieces cut
/// anywhere.
///
/// Where a NAL unit ends is known when the next start code comes. Zero bytes before a start code
/// belong to no unit, and bytes before the first one are left out.
struct AnnexBSplitter {
  /// The longest NAL unit; the rest of one that is longer is left out.
  static let longestUnit = 64 << 20

  /// Bytes came that belong to no unit, because ``finish()`` was called within one.
  private(set) var hasStrayBytes = false
  /// From the first byte of the present unit on, or from where a start code may begin.
  private var pending = ByteBuffer()
  /// How much of `pending` holds no start code.
  private var searched = 0
  private var isInUnit = false
  /// Where the unit given last begins in the stream, with its start code.
  private(set) var offset: Int64
  /// Where the present unit begins.
  private var unitOffset: Int64
  /// The place of the first byte of `pending`.
  private var position: Int64

  /// Splits a stream, or what comes from a place in it on.
  init(at position: Int64 = 0) {
    (offset, unitOffset, self.position) = (position, position, position)
  }

  /// Bytes of the present unit that wait for its end.
  var waitingBytes: Int { isInUnit ? pending.readableBytes : 0 }

  mutating func append(_ bytes: ByteBuffer) {
    pending.discardReadBytes()
    pending.writeImmutableBuffer(bytes)
  }

  /// The next whole unit, or `nil` until more bytes come.
  mutating func next() -> ByteBuffer? {
    while true {
      let start = pending.readerIndex
      guard let code = pending.indexOfStartCode(from: start + searched, to: pending.writerIndex)
      else {
        // A start code may be cut.
        searched = max(0, pending.readableBytes - 2)
        limit()
        return nil
      }
      let unit = isInUnit ? self.unit(endingAt: code) : nil
      noteStrayBytes(before: code)
      offset = unitOffset
      unitOffset = position.addingSaturating(Int64(code - start))
      advance(by: code + 3 - start)
      isInUnit = true
      if let unit { return unit }
    }
  }

  /// The unit that the end of the stream ends, once ``next()`` gives no more; what follows is
  /// another stream.
  mutating func finish() -> ByteBuffer? {
    defer {
      advance(by: pending.readableBytes)
      isInUnit = false
    }
    offset = unitOffset
    return isInUnit ? unit(endingAt: pending.writerIndex) : nil
  }

  /// Whether the present unit can be whole: it ends in a byte that can be the last of one, which a
  /// zero never is (§7.4.1), and not within what may become a start code.
  var mayBeWhole: Bool {
    guard isInUnit, pending.readableBytes > 2 else { return false }
    return pending.getInteger(at: pending.writerIndex - 1, as: UInt8.self) != 0
  }

  private func unit(endingAt end: Int) -> ByteBuffer? {
    let start = pending.readerIndex
    let length = pending.endWithoutZeros(from: start, to: end) - start
    guard length > 0, let slice = pending.getSlice(at: start, length: length) else { return nil }
    // A slice would keep the whole of what was read, and have it copied with the next bytes.
    return slice.copied
  }

  private mutating func noteStrayBytes(before end: Int) {
    let start = pending.readerIndex
    guard !isInUnit, pending.endWithoutZeros(from: start, to: end) > start else { return }
    hasStrayBytes = true
  }

  private mutating func limit() {
    if !isInUnit {
      noteStrayBytes(before: pending.readerIndex + searched)
      advance(by: searched)
    } else if pending.readableBytes > Self.longestUnit {
      advance(by: searched)
      isInUnit = false
    }
  }

  private mutating func advance(by count: Int) {
    pending.moveReaderIndex(forwardBy: count)
    position = position.addingSaturating(Int64(count))
    searched = 0
  }
}
