import Glibc

/// What tells whether a file was changed or replaced.
struct FileStamp: Sendable, Hashable {
  private let path: String
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let changed: [Int]

  init(_ path: String) {
    var status = stat()
    let isThere = unsafe stat(path, &status) == 0
    self.path = path
    device = isThere ? UInt64(status.st_dev) : 0
    inode = isThere ? UInt64(status.st_ino) : 0
    size = isThere ? Int64(status.st_size) : -1
    changed = isThere ? [status.st_ctim.tv_sec, status.st_ctim.tv_nsec] : []
  }
}
