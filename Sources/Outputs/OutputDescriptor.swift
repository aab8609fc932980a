import Decode
import Glibc
import RTPWire

/// An open file, pipe or device to write to; it is closed with the object.
final class OutputDescriptor {
  /// `F_SETPIPE_SZ` and `F_GETPIPE_SZ` of <linux/fcntl.h>, which Swift's Glibc leaves out.
  private static let setPipeSize: Int32 = 1031
  private static let getPipeSize: Int32 = 1032
  /// Read and write permission for all, minus the umask, as is usual for tools.
  private static let permissions: mode_t = 0o666
  /// Microseconds between two attempts to open a named pipe that has no reader.
  private static let readerInterval: UInt32 = 20_000

  private enum Ownership {
    /// Opened here; `created` is the path if the file did not exist before.
    case own(created: String?)
    /// Passed in. Its number must stay in use, or the next file opened would get that of standard
    /// output.
    case borrowed(original: Int32, flags: Int32?)
  }

  let number: Int32
  /// Whether this is a regular file, which can be truncated and continued in another one.
  let isFile: Bool
  private let ownership: Ownership

  /// Opens `path` for writing from the start; waits for a reader if it is a named pipe.
  ///
  /// An existing file keeps its content until ``empty()``: a run that receives nothing must not
  /// destroy a recording. Nor does such a run leave a new, empty file.
  ///
  /// `givesUp` is asked regularly while a named pipe has no reader.
  ///
  /// - Throws: ``OutputError/cannotOpen(path:errno:)``, or ``OutputError/noReader``.
  init(opening path: String, unless givesUp: () -> Bool) throws(OutputError) {
    // Without O_NONBLOCK, opening a named pipe would block until it has a reader, and nothing could
    // interrupt it.
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK
    var number = unsafe open(path, flags | O_EXCL, Self.permissions)
    let isNew = number >= 0
    if !isNew, errno == EEXIST { number = unsafe open(path, flags, Self.permissions) }
    while number < 0, errno == EINTR || (errno == ENXIO && Self.isNamedPipe(path)) {
      guard !givesUp() else { throw .noReader }
      usleep(Self.readerInterval)
      number = unsafe open(path, flags, Self.permissions)
    }
    let error = errno
    guard number >= 0 else { throw .cannotOpen(path: path, errno: error) }
    self.number = number
    isFile = Self.type(of: number) == S_IFREG
    ownership = .own(created: isNew ? path : nil)
    enlargePipe()
  }

  /// Takes over an open descriptor.
  init(takingOver descriptor: Int32) throws(OutputError) {
    guard let type = Self.type(of: descriptor) else {
      throw .cannotOpen(path: "descriptor \(descriptor)", errno: errno)
    }
    isFile = type == S_IFREG
    if isFile {
      number = descriptor
      ownership = .borrowed(original: descriptor, flags: nil)
      return
    }
    // Non-blocking mode belongs to the open file description, which other processes may share.
    // Reopening gives a description of our own. Where that is refused (sockets, another user's
    // pipe), the mode is set on the shared one and restored at the end.
    let reopened = unsafe open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    if reopened >= 0 {
      number = reopened
      ownership = .borrowed(original: descriptor, flags: nil)
    } else {
      let flags = fcntl(descriptor, F_GETFL)
      if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
      number = descriptor
      ownership = .borrowed(original: descriptor, flags: flags >= 0 ? flags : nil)
    }
    enlargePipe()
  }

  deinit {
    switch ownership {
    case .own(let created):
      if let created, isEmpty { unsafe unlink(created) }
      close(number)
    case .borrowed(let original, let flags):
      giveBack(original, flags: flags)
    }
  }

  private func giveBack(_ original: Int32, flags: Int32?) {
    if let flags { _ = fcntl(original, F_SETFL, flags) }
    if number != original { close(number) }
    let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard nowhere >= 0 else { return }
    dup2(nowhere, original)
    close(nowhere)
  }

  private var isEmpty: Bool {
    var status = stat()
    return unsafe fstat(number, &status) == 0 && status.st_size == 0
  }

  /// Truncates a regular file that was opened here.
  func empty() {
    guard isFile, case .own = ownership else { return }
    ftruncate(number, 0)
  }

  /// Removes the last `count` bytes of a file; does nothing for a pipe.
  func removeLast(_ count: Int) {
    guard isFile else { return }
    let end = lseek(number, 0, SEEK_CUR)
    guard end >= count else { return }
    ftruncate(number, end - count)
    lseek(number, end - count, SEEK_SET)
  }

  /// Makes a pipe as large as the kernel allows, so that writing seldom has to wait for the reader.
  private func enlargePipe() {
    let current = fcntl(number, Self.getPipeSize)
    guard current > 0 else { return }
    var size = Self.maximumPipeSize
    while size > current, fcntl(number, Self.setPipeSize, size) < 0 { size /= 2 }
  }

  private static func isNamedPipe(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  private static func type(of descriptor: Int32) -> mode_t? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    return status.st_mode & S_IFMT
  }

  /// The largest pipe an unprivileged process may have: `/proc/sys/fs/pipe-max-size`, usually 1
  /// MiB.
  private static var maximumPipeSize: Int32 {
    let file = unsafe open("/proc/sys/fs/pipe-max-size", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 1 << 20 }
    defer { close(file) }
    var digits = [UInt8](repeating: 0, count: 16)
    let count = unsafe digits.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
    let text = String(decoding: digits.prefix(max(0, count)), as: UTF8.self)
    return Int32(text.prefix { $0.isNumber }) ?? 1 << 20
  }
}
