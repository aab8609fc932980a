import NIOCore

/// What a muxer has written of one file and nobody has taken yet: bytes to append, and bytes that
/// replace earlier ones.
struct MuxedBytes {
  /// The length of the file, with what was not taken yet.
  private(set) var length = 0
  private var position = 0
  private var appended = ByteBuffer()
  private var patches: [OutputRecord.Patch] = []
  /// Of what was taken last, and somewhat more.
  private var lastLength = 0

  /// Writes at the position, which moves on.
  mutating func write(_ bytes: UnsafeRawBufferPointer) {
    let start = length - appended.readableBytes
    var rest = unsafe bytes
    // What was taken can only be replaced later.
    if position < start {
      let old = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(start - position))
      unsafe patches.append(OutputRecord.Patch(offset: position, bytes: ByteBuffer(bytes: old)))
      position += old.count
      unsafe rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(old.count))
    }
    guard unsafe !rest.isEmpty else { return }
    // Fragments are about as long as the one before; to grow step by step would copy each.
    if appended.capacity == 0 { appended.reserveCapacity(max(rest.count, lastLength)) }
    let end = position + rest.count
    unsafe appended.setBytes(rest, at: appended.readerIndex + position - start)
    if end > length {
      appended.moveWriterIndex(to: appended.readerIndex + end - start)
      length = end
    }
    position = end
  }

  /// Moves the position; `false` where the file has no such place.
  mutating func seek(to place: Int) -> Bool {
    guard (0...length).contains(place) else { return false }
    position = place
    return true
  }

  /// What was written since the last time; `nil` if nothing was.
  mutating func take() -> OutputRecord? {
    guard appended.readableBytes > 0 || !patches.isEmpty else { return nil }
    var record = OutputRecord(pieces: [.bytes(appended)], items: 0)
    record.patches = patches
    lastLength = appended.readableBytes + appended.readableBytes / 8
    appended = ByteBuffer()
    patches = []
    return record
  }
}
