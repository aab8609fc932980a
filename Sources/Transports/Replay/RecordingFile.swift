internal import Glibc
internal import NIOCore

/// An open file that is read in large pieces by one thread at a time; gzip is expanded.
final class RecordingFile {
  /// Bytes per read: few enough for a core's cache, enough to make calls rare.
  static let readLength = 512 << 10
  /// Reads in use at the same time: one delivered, one waiting, one being filled.
  private static let slabCount = 3

  /// The first expanded bytes, enough to recognize the format.
  let beginning: ByteBuffer
  private let descriptor: CInt
  private let expansion: GzipReader?
  /// Bytes from the file that are being expanded.
  private var compressed = ByteBuffer()
  private var slabs: [ByteBuffer] = []

  /// - Throws: ``ReplayError``, or an error from reading.
  init(path: String) throws {
    // Otherwise a named pipe would wait for a writer.
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw ReplayError.unreadable(reason: unsafe String(cString: strerror(errno)))
    }
    var beginning = ByteBuffer()
    do {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        throw status.st_mode & S_IFMT == S_IFDIR ? ReplayError.isDirectory : ReplayError.notRegular
      }
      _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
      try Self.read(descriptor, atMost: ForeignContent.signatureLength, into: &beginning)
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
      try Self.read(descriptor, atMost: Self.readLength, into: &slab)
    }
    slabs.append(slab)
    return slab.readableBytes > 0 ? slab : nil
  }

  private func expand(_ expansion: GzipReader, into slab: inout ByteBuffer) throws {
    while try expansion.read(atMost: Self.readLength, into: &slab) == 0 {
      compressed.clear(minimumCapacity: Self.readLength)
      try Self.read(descriptor, atMost: Self.readLength, into: &compressed)
      guard compressed.readableBytes > 0 else { return }
      expansion.append(compressed)
    }
  }

  /// Whether the file ends in the middle of a gzip member.
  var endsInsideMember: Bool { expansion?.isInsideMember ?? false }

  /// Returns to the beginning.
  func rewind() {
    lseek(descriptor, 0, SEEK_SET)
    expansion?.restart()
  }

  private static func read(
    _ descriptor: CInt, atMost count: Int, into buffer: inout ByteBuffer
  ) throws(TransportError) {
    var failure: CInt?
    unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
      while true {
        let result = unsafe Glibc.read(descriptor, bytes.baseAddress, min(count, bytes.count))
        if result < 0, errno == EINTR { continue }
        if result < 0 { failure = errno }
        return max(0, result)
      }
    }
    guard let failure else { return }
    throw .system(
      operation: "read the recording", reason: unsafe String(cString: strerror(failure)))
  }
}
