import Glibc
import NIOCore

/// A file that is read while others write it, and that may be renamed or deleted meanwhile.
@safe final class OpenFile {
  let descriptor: Int32

  /// - Throws: ``SendError`` when it cannot be opened.
  init(path: String) throws(SendError) {
    // A named pipe of this name would be waited for.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw .cannotOpen(path: path, reason: Libav.reason(-errno))
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// The bytes from `offset` on that are there, at most `count`.
  func read(at offset: UInt64, _ count: Int) throws(SendError) -> ByteBuffer {
    var bytes = ByteBufferAllocator().buffer(capacity: count)
    var failure: Int32 = 0
    unsafe bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
      while true {
        let read = unsafe pread(descriptor, room.baseAddress, count, Int(clamping: offset))
        if read < 0, errno == EINTR { continue }
        if read < 0 { failure = errno }
        return max(0, read)
      }
    }
    guard failure == 0 else {
      throw .unreadable(path: "the file", reason: Libav.reason(-failure))
    }
    return bytes
  }

  /// Its length, its number in the file system, and when it was last written.
  var status: (size: UInt64, inode: UInt64, modified: Int64) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return (0, 0, 0) }
    return Self.fields(status)
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The files of `names`.
  static func entries(of names: FileNames) -> [FileChoice.Entry] {
    if let name = names.onlyName { return entry(name, in: names.directory).map { [$0] } ?? [] }
    guard let directory = unsafe opendir(names.directory) else { return [] }
    defer { unsafe _ = closedir(directory) }
    var entries: [FileChoice.Entry] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
          unsafe String(cString: $0)
        }
      }
      guard names.matches(name), let entry = Self.entry(name, in: names.directory) else { continue }
      entries.append(entry)
    }
    return entries
  }

  private static func entry(_ name: String, in directory: String) -> FileChoice.Entry? {
    var status = stat()
    guard unsafe stat("\(directory)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    let fields = Self.fields(status)
    return FileChoice.Entry(name: name, inode: fields.inode, modified: fields.modified)
  }

  private static func fields(_ status: stat) -> (size: UInt64, inode: UInt64, modified: Int64) {
    (
      UInt64(clamping: status.st_size), UInt64(status.st_ino),
      Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    )
  }
}
