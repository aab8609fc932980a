internal import Glibc
internal import NIOCore

/// An open file that is read in large pieces, which one thread at a time may do.
final class RecordingFile {
  /// Bytes of a read: few enough for a core's cache, enough that the calls do not count.
  static let readLength = 512 << 10
  /// Reads whose bytes may be in use at the same time: delivered, waiting and being filled.
  private static let slabCount = 3

  private let descriptor: CInt
  private var slabs: [ByteBuffer] = []

  /// - Throws: ``TransportError/fileUnreadable(path:reason:)`` or ``ReplayError``.
  init(path: String) throws {
    // A named pipe without a writer would otherwise be waited for.
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw TransportError.fileUnreadable(
        path: path, reason: unsafe String(cString: strerror(errno)))
    }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw status.st_mode & S_IFMT == S_IFDIR ? ReplayError.isDirectory : ReplayError.notRegular
    }
    _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
  }

  deinit { close(descriptor) }

  /// The next bytes, or `nil` at the end of the file; memory is used again when nobody holds it.
  ///
  /// - Throws: ``TransportError/system(operation:reason:)``.
  func read(atMost count: Int = RecordingFile.readLength) throws(TransportError) -> ByteBuffer? {
    var slab =
      slabs.count < Self.slabCount
      ? ByteBufferAllocator().buffer(capacity: Self.readLength) : slabs.removeFirst()
    slab.clear(minimumCapacity: Self.readLength)
    var failure: CInt?
    unsafe slab.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
      while true {
        let result = unsafe Glibc.read(
          descriptor, bytes.baseAddress, min(count, bytes.count))
        if result < 0, errno == EINTR { continue }
        if result < 0 { failure = errno }
        return max(0, result)
      }
    }
    if let failure {
      throw .system(
        operation: "read the recording", reason: unsafe String(cString: strerror(failure)))
    }
    slabs.append(slab)
    return slab.readableBytes > 0 ? slab : nil
  }

  /// Goes back to the beginning.
  func rewind() { lseek(descriptor, 0, SEEK_SET) }
}
