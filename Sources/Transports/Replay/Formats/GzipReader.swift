internal import CZlib
internal import NIOCore

/// Expands what is compressed with gzip (RFC 1952), piece by piece, whatever the pieces are cut to.
///
/// Nothing is kept but zlib's window: a piece is expanded only as far as its caller takes it. Files
/// may have several members behind one another, as `cat a.gz b.gz` makes them.
@safe final class GzipReader {
  /// What such a file begins with: its mark, and deflate as the method.
  static let signature: [UInt8] = [0x1F, 0x8B, 8]
  /// A file may expand so many times; captures expand ten times at most, and bombs a thousand.
  static let maximumRatio: UInt64 = 200
  /// Bytes that may come out of however few.
  static let freeLength: UInt64 = 64 << 20

  /// In one place for as long as it lives, since zlib remembers where it is.
  private let stream: UnsafeMutablePointer<z_stream>
  private var input = ByteBuffer()
  private var taken: UInt64 = 0
  private var expanded: UInt64 = 0
  private var stage = Stage.member
  /// Whether zlib had more to give than there was room for.
  private var hasMore = false

  private enum Stage {
    /// Inside of a member.
    case member
    /// Between two members, or behind the last one.
    case between
    /// What stands behind the last member belongs to nobody.
    case over
  }

  init() {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // It fails where there is no memory; then nothing is expanded, which is said as damage.
    _ = unsafe czlib_begin_gunzip(stream)
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Whether a member has begun whose end has not come.
  var isInsideMember: Bool { if case .member = stage { taken > 0 } else { false } }

  /// Takes compressed bytes; pull ``read(atMost:into:)`` until it has no more before the next ones.
  func append(_ bytes: ByteBuffer) { input = bytes }

  /// Goes back to before the first byte.
  func restart() {
    unsafe inflateReset(stream)
    (input, taken, expanded, stage, hasMore) = (ByteBuffer(), 0, 0, .member, false)
  }

  /// Appends at most `count` expanded bytes to `output`, and says how many; 0 when more compressed
  /// ones are needed.
  ///
  /// - Throws: what makes the rest unreadable.
  func read(
    atMost count: Int, into output: inout ByteBuffer
  ) throws(DamagedRecording) -> Int {
    while input.readableBytes > 0 || hasMore {
      switch stage {
      case .over:
        input.clear()
        hasMore = false
      case .between:
        // Padding, or whatever else is no member.
        guard input.getInteger(at: input.readerIndex, as: UInt8.self) == Self.signature[0] else {
          stage = .over
          continue
        }
        unsafe inflateReset(stream)
        stage = .member
      case .member:
        let produced = try expand(atMost: count, into: &output)
        if produced > 0 { return produced }
      }
    }
    return 0
  }

  private func expand(
    atMost count: Int, into output: inout ByteBuffer
  ) throws(DamagedRecording) -> Int {
    var status = Z_OK
    var consumed = 0
    let room = UInt32(clamping: count)
    let produced = unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
      target in
      unsafe input.withUnsafeMutableReadableBytes { source in
        unsafe stream.pointee.next_in = source.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_in = UInt32(clamping: source.count)
        unsafe stream.pointee.next_out = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.avail_out = room
        status = unsafe inflate(stream, Z_NO_FLUSH)
        consumed = unsafe source.count - Int(stream.pointee.avail_in)
        let left = unsafe Int(stream.pointee.avail_out)
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
        return Int(room) - left
      }
    }
    input.moveReaderIndex(forwardBy: min(consumed, input.readableBytes))
    let place = taken
    taken += UInt64(consumed)
    expanded += UInt64(produced)
    if status == Z_STREAM_END { stage = .between }
    hasMore = produced == count && stage == .member
    // Without bytes to take or to give there is nothing to do, which is no fault.
    let isStuck = status == Z_BUF_ERROR && input.readableBytes > 0 && produced == 0
    guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status), !isStuck else {
      throw DamagedRecording(offset: place, reason: .compression)
    }
    guard expanded <= Self.freeLength || expanded <= taken.multipliedSaturating(Self.maximumRatio)
    else { throw DamagedRecording(offset: place, reason: .expansion(Self.maximumRatio)) }
    return produced
  }
}

extension UInt64 {
  fileprivate func multipliedSaturating(_ other: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }
}
