internal import BlockingIO
internal import NIOCore

/// The file of a capture, used by its thread; it always ends with a whole block.
final class CaptureWriting {
  /// Bytes of whole blocks in the file.
  private(set) var length: Int64 = 0
  private let file: FileWriter
  private let deadline: WriteDeadline

  init(to file: FileWriter, until deadline: WriteDeadline) {
    self.file = file
    self.deadline = deadline
  }

  /// Writes whole blocks; the first of them replaces the file's old content.
  func write(_ blocks: ByteBuffer) -> WriteFailure? {
    if length == 0 { file.empty() }
    var (written, failure) = unsafe blocks.withUnsafeReadableBytes {
      unsafe file.write($0, until: deadline)
    }
    if failure != nil {
      let whole = Self.wholeBlocks(of: blocks, upTo: written)
      file.removeLast(written - whole)
      written = whole
    }
    length += Int64(written)
    return failure
  }

  /// How many of the first `count` bytes form whole blocks.
  static func wholeBlocks(of blocks: ByteBuffer, upTo count: Int) -> Int {
    var end = 0
    while let length = blocks.getInteger(at: blocks.readerIndex + end + 4, as: UInt32.self),
      length > 0, end + Int(length) <= count
    {
      end += Int(length)
    }
    return end
  }
}
