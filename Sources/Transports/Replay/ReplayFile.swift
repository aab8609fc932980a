internal import Glibc
internal import NIOCore

/// An open file that is read in large pieces by one thread at a time; gzip is expanded.
///
/// A pipe is read once: ``rewind()`` has to come before the first ``read()``.
final class ReplayFile {
  /// Bytes per read: few enough for a core's cache, enough to make calls rare.
  static let readLength = 512 << 10
  /// Reads in use at the same time: one delivered, one waiting, one being filled.
  private static let slabCount = 3

  /// The first expanded bytes, enough to recognize the format.
  let beginning: ByteBuffer
  private let descriptor: CInt
  private let isPipe: Bool
  /// What was read to recognize the format, as it came.
  private let peeked: ByteBuffer
  /// What of it a pipe will not return again.
  private var unread = ByteBuffer()
  private let expansion: GzipReader?
  /// Bytes from the file that are being expanded.
  private var compressed = ByteBuffer()
  private var slabs: [ByteBuffer] = []

  /// Opens a file, or a pipe where `mayBePipe`, which waits for whoever writes it.
  ///
  /// - Throws: ``ReplayError``, or an error from reading.
  init(path: String, mayBePipe: Bool = false) throws {
    // Otherwise a named pipe would wait for a writer.
    let isWaiting = mayBePipe ? 0 : O_NONBLOCK
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | isWaiting)
    guard descriptor >= 0 else {
      throw ReplayError.unreadable(reason: unsafe String(cString: strerror(errno)))
    }
    var beginning = ByteBuffer()
    do {
      var status = stat()
      let isKnown = unsafe fstat(descriptor, &status) == 0
      isPipe = isKnown && mayBePipe && status.st_mode & S_IFMT == S_IFIFO
      guard isKnown, isPipe || status.st_mode & S_IFMT == S_IFREG else {
        throw status.st_mode & S_IFMT == S_IFDIR ? ReplayError.isDirectory : ReplayError.notRegular
      }
      _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
      // A pipe may return less at a time.
      while beginning.readableBytes < ForeignContent.signatureLength,
        try Self.read(descriptor, atMost: ForeignContent.signatureLength, into: &beginning) > 0
      {}
      peeked = beginning
      guard beginning.readableBytesView.starts(with: GzipReader.signature) else {
        (self.beginning, expansion) = (beginning, nil)
        rewind()
        return
      }
      let expansion = GzipReader()
      expansion.append(beginning)
      beginning = ByteBuffer()
      _ = try expansion.read(atMost: ForeignContent.signatureLength, into: &beginning)
      (self.beginning, self.expansion) = (beginning, expansion)
    } catch {
      close(descriptor)
      throw error
    }
    rewind()
  }

  deinit { close(descriptor) }

  /// The next bytes, or `nil` at the end; memory is reused once nobody references it.
  ///
  /// - Throws: ``TransportError/system(operation:reason:)`` or ``DamagedRecording``.
  func read() throws -> ByteBuffer? {
    var slab =
      slabs.count < Self.slabCount
      ? ByteBufferAllocator().buffer(capacity: Self.readLength) : slabs.removeFirst()
    slab.clear(minimumCapacity: Self.readLength)
    if let expansion {
      try expand(expansion, into: &slab)
    } else {
      try readOn(into: &slab)
    }
    slabs.append(slab)
    return slab.readableBytes > 0 ? slab : nil
  }

  private func expand(_ expansion: GzipReader, into slab: inout ByteBuffer) throws {
    while try expansion.read(atMost: Self.readLength, into: &slab) == 0 {
      compressed.clear(minimumCapacity: Self.readLength)
      try readOn(into: &compressed)
      guard compressed.readableBytes > 0 else { return }
      expansion.append(compressed)
    }
  }

  /// Whether the file ends in the middle of a gzip member.
  var endsInsideMember: Bool { expansion?.isInsideMember ?? false }

  /// Returns to the beginning.
  func rewind() {
    if isPipe { unread = peeked } else { lseek(descriptor, 0, SEEK_SET) }
    expansion?.restart()
  }

  private func readOn(into buffer: inout ByteBuffer) throws(TransportError) {
    guard unread.readableBytes == 0 else {
      buffer.writeBuffer(&unread)
      return
    }
    try Self.read(descriptor, atMost: Self.readLength, into: &buffer)
  }

  /// Returns how many bytes there were; 0 at the end.
  @discardableResult
  private static func read(
    _ descriptor: CInt, atMost count: Int, into buffer: inout ByteBuffer
  ) throws(TransportError) -> Int {
    var failure: CInt?
    let former = buffer.readableBytes
    unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
      while true {
        let result = unsafe Glibc.read(descriptor, bytes.baseAddress, min(count, bytes.count))
        if result < 0, errno == EINTR { continue }
        if result < 0 { failure = errno }
        return max(0, result)
      }
    }
    guard let failure else { return buffer.readableBytes - former }
    throw .system(
      operation: "read the recording", reason: unsafe String(cString: strerror(failure)))
  }
}
