import CLinux
package import Glibc

/// A file, a pipe or a device, open for writing; it is closed with the object.
///
/// Used by one thread at a time. A pipe's reader may stall, so every wait for it has a deadline. A
/// write to a vanished disk may never return, and nothing can end it, so whatever must go on writes
/// on a ``WorkerThread``.
package final class FileWriter {
  /// `F_SETPIPE_SZ` and `F_GETPIPE_SZ` of <linux/fcntl.h>, which Swift's Glibc leaves out.
  private static let setPipeSize: Int32 = 1031
  private static let getPipeSize: Int32 = 1032
  /// The most iovecs that one writev(2) takes (Linux's `UIO_MAXIOV`).
  private static let maximumVectors = 1024
  /// How many bytes a ready pipe takes without blocking (`PIPE_BUF`).
  private static let portion = 4096
  /// How often a file is opened that somebody removes just then.
  private static let mostAttempts = 3
  /// The longest that a disk may take with a time limit: a busy one needs seconds for what it has
  /// not stored yet.
  package static let longestStoring = Duration.seconds(10)
  /// Read and write permission for all, minus the umask, as is usual for tools.
  package static let usualPermissions: mode_t = 0o666

  private enum Ownership {
    /// Opened here; `created` is the path if the file did not exist before.
    case own(created: String?)
    /// Passed in for good. Its number must stay in use, or the next file opened would get that of
    /// standard output.
    case takenOver(original: Int32, flags: Int32?)
    /// Passed in, and used by others too, who may rely on its mode.
    case borrowed
  }

  /// Whether this is a regular file, which can be truncated and continued in another one.
  package let isFile: Bool
  private let number: Int32
  private let ownership: Ownership
  /// Whether the disk has the name of a new file, too.
  private var hasStoredName = false
  private var isClosed = false

  /// Opens `path` for writing from the start; waits for a named pipe's reader until `deadline`.
  ///
  /// An existing file keeps its content until ``empty()``: a run that receives nothing must not
  /// destroy a recording. Nor does such a run leave a new, empty file. A regular file is locked
  /// until it is closed (flock(2)): two runs of one name would write over each other.
  ///
  /// - Parameters:
  ///   - path: the file, named pipe or device.
  ///   - permissions: those of a new file, before the umask.
  ///   - isAppending: whether what is written comes at the end, though another program may have cut
  ///     the file.
  ///   - deadline: when to give up on a named pipe's reader.
  ///   - noteDelay: called if that does not come within two seconds, before waiting on.
  /// - Throws: ``WriteFailure/cannotOpen(errno:)``, ``WriteFailure/inUse`` or
  ///   ``WriteFailure/noReader``.
  package init(
    opening path: String, permissions: mode_t = usualPermissions, isAppending: Bool = false,
    until deadline: WriteDeadline, whenReaderIsLate noteDelay: () -> Void = {}
  ) throws(WriteFailure) {
    // Without O_NONBLOCK, opening a named pipe would block until it has a reader.
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (isAppending ? O_APPEND : 0)
    var (number, isNew, isFile) = (Int32(-1), false, false)
    for attempt in 1...Self.mostAttempts {
      number = Self.open(path, flags | O_EXCL, permissions)
      isNew = number >= 0
      if !isNew, errno == EEXIST { number = Self.open(path, flags, permissions) }
      if number < 0 {
        let error = errno
        guard error == ENXIO, Self.isNamedPipe(path) else { throw .cannotOpen(errno: error) }
        number = try NamedPipeOpening.open(
          path, until: deadline, whenReaderIsLate: noteDelay)
      }
      isFile = Self.type(of: number) == S_IFREG
      guard isFile else { break }
      try Self.lock(number)
      // A run that wrote nothing has removed its new file, perhaps after it was opened here.
      guard !isNew, attempt < Self.mostAttempts, Self.isRemoved(number) else { break }
      close(number)
    }
    self.number = number
    self.isFile = isFile
    ownership = .own(created: isNew ? path : nil)
    enlargePipe()
  }

  /// Makes the new file `path`, and opens it for writing.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - isLocked: whether it is locked, as above: another run may be given its name.
  /// - Throws: ``WriteFailure/cannotOpen(errno:)``, with `EEXIST` where there is something already;
  ///   ``WriteFailure/inUse`` if another run has just opened it.
  package init(creating path: String, isLocked: Bool = false) throws(WriteFailure) {
    let number = Self.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, Self.usualPermissions)
    guard number >= 0 else { throw .cannotOpen(errno: errno) }
    if isLocked { try Self.lock(number) }
    self.number = number
    isFile = true
    ownership = .own(created: path)
  }

  /// Takes over an open descriptor, which refers to `/dev/null` at the end.
  ///
  /// - Throws: ``WriteFailure/cannotOpen(errno:)``.
  package init(takingOver descriptor: Int32) throws(WriteFailure) {
    guard let type = Self.type(of: descriptor) else { throw .cannotOpen(errno: errno) }
    isFile = type == S_IFREG
    if isFile {
      number = descriptor
      ownership = .takenOver(original: descriptor, flags: nil)
      return
    }
    // Non-blocking mode belongs to the open file description, which other processes may share.
    // Reopening gives a description of our own. Where that is refused (sockets, another user's
    // pipe), the mode is set on the shared one and restored at the end.
    let reopened = unsafe Glibc.open(
      "/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    if reopened >= 0 {
      number = reopened
      ownership = .takenOver(original: descriptor, flags: nil)
    } else {
      let flags = fcntl(descriptor, F_GETFL)
      if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
      number = descriptor
      ownership = .takenOver(original: descriptor, flags: flags >= 0 ? flags : nil)
    }
    enlargePipe()
  }

  /// Writes to a descriptor that others use too, and leaves it unchanged.
  package init(borrowing descriptor: Int32) {
    number = descriptor
    isFile = false
    ownership = .borrowed
  }

  deinit {
    switch ownership {
    case .own: _ = finish()
    case .takenOver(let original, let flags):
      giveBack(original, flags: flags)
    case .borrowed: break
    }
  }

  /// Closes a file or pipe that was opened here; nothing can be written afterwards.
  ///
  /// - Returns: why what was written before is not in the file: a file server may say only now that
  ///   it has no room.
  package func finish() -> WriteFailure? {
    guard case .own(let created) = ownership, !isClosed else { return nil }
    if let created, isFile, isEmpty, isNamed(created) { unsafe unlink(created) }
    isClosed = true
    // Whatever it says, the descriptor is gone.
    return close(number) == 0 || errno == EINTR ? nil : .failed(errno: errno)
  }

  /// Whether `path` is still the name of this file: somebody may have moved it, and put another one
  /// in its place.
  package func isNamed(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    return unsafe fstat(number, &own) == 0 && lstat(path, &other) == 0
      && own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  private func giveBack(_ original: Int32, flags: Int32?) {
    if let flags { _ = fcntl(original, F_SETFL, flags) }
    if number != original { close(number) }
    let nowhere = unsafe Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard nowhere >= 0 else { return }
    dup2(nowhere, original)
    close(nowhere)
  }

  // MARK: - Writing

  /// Writes the bytes of `vectors`, with as many system calls as necessary; consumes them.
  ///
  /// SIGPIPE must be ignored, or blocked as on a ``WorkerThread``.
  ///
  /// - Returns: how many bytes were written, and why not all.
  package func write(
    _ vectors: UnsafeMutableBufferPointer<iovec>, until deadline: WriteDeadline
  ) -> (written: Int, failure: WriteFailure?) {
    var written = 0
    var first = 0
    while first < vectors.count {
      var result = -1
      if case .borrowed = ownership {
        if let failure = wait(until: deadline) { return (written, failure) }
        result = unsafe Glibc.write(
          number, vectors[first].iov_base, min(vectors[first].iov_len, Self.portion))
      } else {
        result = unsafe writev(
          number, UnsafePointer(vectors.baseAddress?.advanced(by: first)),
          Int32(min(vectors.count - first, Self.maximumVectors)))
      }
      switch (result, errno) {
      case (1..., _):
        written += result
        unsafe Self.skip(result, in: vectors, first: &first)
      case (0, _): return (written, .failed(errno: EIO))
      case (_, EINTR): continue
      case (_, EAGAIN): if let failure = wait(until: deadline) { return (written, failure) }
      case (_, EPIPE): return (written, .readerGone)
      case (_, let error): return (written, .failed(errno: error))
      }
    }
    return (written, nil)
  }

  /// Writes `bytes`, as above.
  package func write(
    _ bytes: UnsafeRawBufferPointer, until deadline: WriteDeadline
  ) -> (written: Int, failure: WriteFailure?) {
    guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else { return (0, nil) }
    var vector = unsafe iovec(
      iov_base: UnsafeMutableRawPointer(mutating: start), iov_len: bytes.count)
    return unsafe withUnsafeMutablePointer(to: &vector) {
      unsafe write(UnsafeMutableBufferPointer(start: $0, count: 1), until: deadline)
    }
  }

  /// Writes `text`, as above.
  package func write(_ text: String, until deadline: WriteDeadline) -> WriteFailure? {
    unsafe Array(text.utf8).withUnsafeBytes { unsafe write($0, until: deadline).failure }
  }

  /// Waits until the pipe takes more or has lost its reader, which the next write reports.
  private func wait(until deadline: WriteDeadline) -> WriteFailure? {
    switch deadline.wait(for: number, POLLOUT) {
    case .ready: nil
    case .tooLate: .readerTooSlow
    case .failed(let error): .failed(errno: error)
    }
  }

  /// Advances past `count` written bytes, into the middle of a vector if need be.
  private static func skip(
    _ count: Int, in vectors: UnsafeMutableBufferPointer<iovec>, first: inout Int
  ) {
    var left = count
    while left > 0, first < vectors.count {
      let length = unsafe vectors[first].iov_len
      if left >= length {
        left -= length
        first += 1
      } else {
        unsafe vectors[first].iov_base = vectors[first].iov_base?.advanced(by: left)
        unsafe vectors[first].iov_len = length - left
        left = 0
      }
    }
  }

  // MARK: - Files

  /// Whether the file is empty.
  package var isEmpty: Bool { length == 0 }

  /// Its length in bytes, which others may change; `nil` if it cannot be told.
  package var length: Int? {
    var status = stat()
    return unsafe fstat(number, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Truncates a regular file that was opened here.
  package func empty() {
    guard isFile, case .own = ownership else { return }
    ftruncate(number, 0)
  }

  /// Removes the last `count` bytes of a file; does nothing for a pipe.
  package func removeLast(_ count: Int) {
    guard isFile else { return }
    let end = lseek(number, 0, SEEK_CUR)
    guard end >= count else { return }
    ftruncate(number, end - count)
    lseek(number, end - count, SEEK_SET)
  }

  /// Whether bytes can be replaced: in a regular file that was opened here.
  package var canReplace: Bool {
    if case .own = ownership { isFile } else { false }
  }

  /// Replaces the bytes from `offset` on, all of which have been written before.
  ///
  /// - Returns: why not all were replaced.
  package func replace(at offset: Int, with bytes: UnsafeRawBufferPointer) -> WriteFailure? {
    var rest = unsafe bytes
    var place = off_t(offset)
    while unsafe !rest.isEmpty {
      let count = unsafe pwrite(number, rest.baseAddress, rest.count, place)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return .failed(errno: count < 0 ? errno : EIO) }
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      place += off_t(count)
    }
    return nil
  }

  /// Waits until what was written is on the disk, for regular files; the first time also until the
  /// folder has the name of a new one there.
  ///
  /// - Returns: why it is not.
  package func sync() -> WriteFailure? {
    while isFile, fdatasync(number) != 0 {
      // Some file systems cannot say.
      if errno == EINVAL || errno == ENOSYS { return nil }
      if errno != EINTR { return .failed(errno: errno) }
    }
    guard isFile, !hasStoredName, case .own(let created?) = ownership else { return nil }
    if let failure = Self.syncFolder(of: created) { return failure }
    hasStoredName = true
    return nil
  }

  /// Waits until the folder of `path` has that name on the disk.
  ///
  /// - Returns: why it has not.
  package static func syncFolder(of path: String) -> WriteFailure? {
    let end = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let folder = end == path.startIndex ? "." : String(path[..<end])
    let number = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    // A folder may let files be made and not let itself be read.
    guard number >= 0 else { return nil }
    defer { close(number) }
    while fsync(number) != 0 {
      if errno == EINVAL || errno == ENOSYS { return nil }
      if errno != EINTR { return .failed(errno: errno) }
    }
    return nil
  }

  private static func open(_ path: String, _ flags: Int32, _ permissions: mode_t) -> Int32 {
    while true {
      let number = unsafe Glibc.open(path, flags, permissions)
      if number >= 0 || errno != EINTR { return number }
    }
  }

  /// Locks a regular file against those who do the same, or closes it.
  ///
  /// Only the descriptor has the lock, and no child inherits that.
  private static func lock(_ number: Int32) throws(WriteFailure) {
    guard clinux_lock(number) != 0 else { return }
    close(number)
    throw .inUse
  }

  /// Whether an open file has no name any more.
  private static func isRemoved(_ number: Int32) -> Bool {
    var status = stat()
    return unsafe fstat(number, &status) == 0 && status.st_nlink == 0
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

  // MARK: - Pipes

  /// Makes a pipe as large as the kernel allows, so that writing seldom has to wait for the reader.
  private func enlargePipe() {
    let current = fcntl(number, Self.getPipeSize)
    guard current > 0 else { return }
    var size = Self.maximumPipeSize
    while size > current, fcntl(number, Self.setPipeSize, size) < 0 { size /= 2 }
  }

  /// The largest pipe an unprivileged process may have: `/proc/sys/fs/pipe-max-size`, usually 1
  /// MiB.
  private static var maximumPipeSize: Int32 {
    let file = unsafe Glibc.open("/proc/sys/fs/pipe-max-size", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 1 << 20 }
    defer { close(file) }
    var digits = [UInt8](repeating: 0, count: 16)
    let count = unsafe digits.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
    let text = String(decoding: digits.prefix(max(0, count)), as: UTF8.self)
    return Int32(text.prefix { $0.isNumber }) ?? 1 << 20
  }
}
