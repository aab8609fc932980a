import BlockingIO
import Glibc
import Outputs

/// A file of an earlier run, which the next one would replace.
enum FormerFile {
  /// More are not looked for.
  private static let most = 9999

  /// Renames the file at `path`, if it has something in it, to the first of `name.0001.mkv`,
  /// `name.0002.mkv` … that is free.
  ///
  /// Of a link, it is the file that the link leads to.
  ///
  /// - Throws: why it stays.
  static func keep(_ path: String) throws(CannotWrite) {
    guard let path = try? SymbolicLink.target(of: path) else {
      throw CannotWrite(description: "\(path) leads in a circle, or is somebody else's link")
    }
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
    else { return }
    // What `/dev/stdout` leads to is being written.
    let file = FileIdentity(path, standard: -1)
    guard
      !(STDIN_FILENO...STDERR_FILENO).contains(where: { FileIdentity("-", standard: $0) == file })
    else { return }
    for number in 1...most {
      let free = OutputTarget.continuation(of: path, number: number)
      switch move(path, to: free) {
      case 0: return
      case EEXIST: continue
      case let error:
        let reason = unsafe String(cString: strerror(error))
        throw CannotWrite(description: "\(path) cannot be kept, and is replaced: \(reason)")
      }
    }
    throw CannotWrite(description: "\(path) is replaced: there are \(most) earlier ones")
  }

  /// Renames, but replaces nothing; returns 0 or the error.
  private static func move(_ path: String, to free: String) -> CInt {
    if unsafe link(path, free) == 0 { return unsafe unlink(path) == 0 ? 0 : errno }
    // A file system without hard links, such as that of a memory card.
    guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { return errno }
    if unsafe access(free, F_OK) == 0 { return EEXIST }
    return unsafe rename(path, free) == 0 ? 0 : errno
  }
}
