internal import CZlib
internal import NIOCore
internal import RTPWire

/// Decompresses gzip (RFC 1952) piece by piece, wherever the input is cut.
///
/// Only zlib's window is kept: a piece is expanded only as far as its caller takes it. A file may
/// consist of several members, as from `cat a.gz b.gz`.
@safe final class GzipReader {
  /// The first bytes of such a file: the magic number, and deflate as the method.
  static let signature: [UInt8] = [0x1F, 0x8B, 8]
  /// The largest ratio of expansion; captures expand ten times at most, and bombs a thousand times.
  static let maximumRatio: UInt64 = 200
  /// Bytes that may be produced from any number of input bytes.
  static let freeLength: UInt64 = 64 << 20

  /// At a fixed address, because zlib remembers it.
  private let stream: UnsafeMutablePointer<z_stream>
  private var input = ByteBuffer()
  private var taken: UInt64 = 0
  private var expanded: UInt64 = 0
  private var stage = Stage.member
  /// Whether zlib had more output than room for it.
  private var hasMore = false
  /// Why nothing more can be expanded.
  private var damage: DamagedRecording?

  private enum Stage {
    /// Inside a member.
    case member
    /// Between two members, or after the last one.
    case between
    /// What follows the last member is ignored.
    case over
  }

  init() {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // Fails without memory; then nothing is expanded, which is reported as damage.
    _ = unsafe czlib_begin_gunzip(stream)
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Whether a member has begun and not ended.
  var isInsideMember: Bool { if case .member = stage { taken > 0 } else { false } }

  /// Adds compressed bytes; call ``read(atMost:into:)`` until it has no more before adding others.
  func append(_ bytes: ByteBuffer) { input = bytes }

  /// Returns to the first byte.
  func restart() {
    unsafe inflateReset(stream)
    (input, taken, expanded, stage, hasMore) = (ByteBuffer(), 0, 0, .member, false)
    damage = nil
  }

  /// Appends at most `count` expanded bytes to `output` and returns how many; 0 if more input is
  /// needed.
  ///
  /// - Throws: why the rest cannot be read.
  func read(
    atMost count: Int, into output: inout ByteBuffer
  ) throws(DamagedRecording) -> Int {
    if let damage { throw damage }
    while input.readableBytes > 0 || hasMore {
      switch stage {
      case .over:
        input.clear()
        hasMore = false
      case .between:
        // Padding, or anything else that is not a member.
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
    taken += UInt64(consumed)
    expanded += UInt64(produced)
    if status == Z_STREAM_END { stage = .between }
    hasMore = produced == count && stage == .member
    // Without input or room there is nothing to do, which is no error.
    let isStuck = status == Z_BUF_ERROR && input.readableBytes > 0 && produced == 0
    if ![Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status) || isStuck {
      damage = DamagedRecording(offset: taken, reason: .compression)
    } else if expanded > Self.freeLength,
      expanded > taken.multipliedSaturating(by: Self.maximumRatio)
    {
      damage = DamagedRecording(offset: taken, reason: .expansion(Self.maximumRatio))
    }
    // What came before the damage is good.
    if let damage, produced == 0 { throw damage }
    return produced
  }
}
