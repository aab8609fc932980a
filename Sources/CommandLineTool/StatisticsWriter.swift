import Dispatch
import Glibc
import Receiver
import Synchronization

/// Writes one JSON object a line to a file, a pipe, standard output or an inherited descriptor.
///
/// After a line that cannot be written, no more are written: half a line would spoil the next one.
/// A file that reaches the limit is renamed to `NAME.1`, replacing an older one, and a new file
/// begins.
final class StatisticsWriter: Sendable {
  struct CannotOpen: Error, CustomStringConvertible {
    let description: String
  }

  /// For one line; well below the time that a run may take to end.
  private static let patience = Duration.milliseconds(500)
  /// How long a named pipe may have no reader at the start, in seconds.
  private static let readerPatience = 5

  private struct State {
    var descriptor: Int32
    /// Bytes in the file so far.
    var length = 0
    var failure: Int32?
    var hasToldFailure = false
  }

  private let name: String
  private let limit: Int
  /// Whether this is a regular file opened here, which can be rotated.
  private let isFile: Bool
  private let state: Mutex<State>

  /// Opens `target`: a path, `-`, or `fd:N`; a file holds at most `limit` bytes.
  ///
  /// A named pipe is opened once somebody reads it, within five seconds.
  ///
  /// - Throws: ``CannotOpen``.
  init(_ target: String, limit: Int) throws(CannotOpen) {
    name = target
    self.limit = limit
    if target == "-" {
      isFile = false
      state = Mutex(State(descriptor: STDOUT_FILENO))
    } else if target.hasPrefix("fd:") {
      guard let number = Int32(target.dropFirst(3)), fcntl(number, F_GETFD) >= 0,
        !StandardDescriptors.closed.contains(number)
      else { throw CannotOpen(description: "--stats \(target): no such descriptor is open") }
      isFile = false
      state = Mutex(State(descriptor: number))
    } else {
      let descriptor = try Self.open(target)
      var status = stat()
      isFile = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      state = Mutex(State(descriptor: descriptor))
    }
  }

  /// Writes `line`, unless one before it could not be written.
  func write(_ line: JSONLine) {
    let bytes = Array((line.text + "\n").utf8)
    state.withLock { state in
      guard state.failure == nil else { return }
      if isFile, state.length > 0, state.length + bytes.count > limit { rotate(&state) }
      guard state.failure == nil else { return }
      state.failure = BoundedWrite.write(bytes, to: state.descriptor, within: Self.patience)
      state.length += bytes.count
    }
  }

  /// Why the statistics ended early; returned only once.
  func takeComplaint() -> String? {
    let failure = state.withLock { state -> Int32? in
      guard !state.hasToldFailure, let failure = state.failure else { return nil }
      state.hasToldFailure = true
      return failure
    }
    guard let failure else { return nil }
    switch failure {
    case EPIPE: return "the reader of --stats \(name) has gone away"
    case ETIMEDOUT: return "the reader of --stats \(name) does not read"
    default:
      let reason = unsafe String(cString: strerror(failure))
      return "--stats \(name) cannot be written: \(reason); the run goes on without it"
    }
  }

  /// The exit status if the statistics ended early.
  var status: ExitStatus? {
    state.withLock(\.failure).map { $0 == EPIPE ? .readerGone : .outputFailed }
  }

  private func rotate(_ state: inout State) {
    guard unsafe rename(name, name + ".1") == 0 else {
      state.failure = errno
      return
    }
    close(state.descriptor)
    state.descriptor = unsafe Glibc.open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    state.length = 0
    if state.descriptor < 0 { state.failure = errno }
  }

  private static func open(_ path: String) throws(CannotOpen) -> Int32 {
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
      guard let descriptor = openPipe(path) else {
        throw CannotOpen(
          description: "--stats \(path): nobody has opened the pipe to read it within "
            + "\(readerPatience) s")
      }
      return descriptor
    }
    let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      let reason = unsafe String(cString: strerror(errno))
      throw CannotOpen(description: "--stats \(path): \(reason)")
    }
    return descriptor
  }

  /// Opens a named pipe as soon as it has a reader; `nil` when it gets none in time.
  private static func openPipe(_ path: String) -> Int32? {
    let opened = Mutex<Int32>(-1)
    let isOpen = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      // Blocks until there is a reader.
      let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC)
      opened.withLock { $0 = descriptor }
      isOpen.signal()
    }
    var hasReader = true
    var substitute: Int32 = -1
    if isOpen.wait(timeout: .now() + .seconds(readerPatience)) == .timedOut {
      // Opening the pipe for reading ends that wait.
      hasReader = false
      substitute = unsafe Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      isOpen.wait()
    }
    let descriptor = opened.withLock(\.self)
    if substitute >= 0 { close(substitute) }
    guard hasReader, descriptor >= 0 else {
      if descriptor >= 0 { close(descriptor) }
      return nil
    }
    return descriptor
  }
}
