import Glibc
import RTPWire
import Synchronization

/// Opens a named pipe for writing once it has a reader.
///
/// open(2) waits for a reader, and only a reader ends that wait. So it runs on a separate thread,
/// and to give up, the caller itself becomes the reader.
final class NamedPipeOpening: Sendable {
  /// `O_PATH` of <linux/fcntl.h>, which Swift's Glibc leaves out.
  private static let pathOnly: Int32 = 0o10_000_000

  private enum State {
    case waiting
    case opened(Int32)
    case failed(errno: Int32)
    /// The caller has given up; the reading end that ended the thread's wait.
    case abandoned(readEnd: Int32)
  }

  private let state = Mutex(State.waiting)
  /// Refers to the pipe, even if it is renamed.
  private let handle: Int32
  private let waker: Waker

  /// How long a reader takes that was started together with the writer.
  private static let patience = Duration.seconds(2)

  /// Opens `path` in non-blocking mode, before `deadline`.
  ///
  /// - Parameters:
  ///   - path: the named pipe.
  ///   - deadline: when to give up.
  ///   - noteDelay: called if there is no reader within two seconds, before waiting on.
  /// - Returns: the descriptor.
  /// - Throws: ``WriteFailure/noReader`` or ``WriteFailure/cannotOpen(errno:)``.
  static func open(
    _ path: String, until deadline: WriteDeadline, whenReaderIsLate noteDelay: () -> Void
  ) throws(WriteFailure) -> Int32 {
    guard !deadline.isPast else { throw .noReader }
    let opening = try NamedPipeOpening(path)
    do {
      _ = try WorkerThread { opening.run() }
    } catch {
      throw .cannotOpen(errno: error.code)
    }
    var outcome = deadline.wait(
      for: opening.waker.descriptor, POLLIN, until: Instant.now.advanced(by: patience))
    if case .tooLate = outcome, !deadline.isPast {
      noteDelay()
      outcome = deadline.wait(for: opening.waker.descriptor, POLLIN)
    }
    if let descriptor = try opening.take() { return descriptor }
    if case .failed(let number) = outcome { throw .cannotOpen(errno: number) }
    throw .noReader
  }

  private init(_ path: String) throws(WriteFailure) {
    waker = try Waker()
    handle = unsafe Glibc.open(path, Self.pathOnly | O_CLOEXEC)
    guard handle >= 0 else { throw .cannotOpen(errno: errno) }
  }

  deinit { if handle >= 0 { close(handle) } }

  private var path: String { "/proc/self/fd/\(handle)" }

  /// The descriptor, if any; the caller no longer waits.
  private func take() throws(WriteFailure) -> Int32? {
    let result: Result<Int32?, WriteFailure> = state.withLock { state in
      switch state {
      case .opened(let descriptor): return .success(descriptor)
      case .failed(let number): return .failure(.cannotOpen(errno: number))
      case .waiting, .abandoned:
        let readEnd = unsafe Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        state = .abandoned(readEnd: readEnd)
        return .success(nil)
      }
    }
    return try result.get()
  }

  /// Waits for a reader, on the thread.
  private func run() {
    var descriptor: Int32
    repeat {
      descriptor = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC)
    } while descriptor < 0 && errno == EINTR
    let number = errno
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, O_WRONLY | O_NONBLOCK) }
    state.withLock { state in
      if case .abandoned(let readEnd) = state {
        for end in [descriptor, readEnd] where end >= 0 { close(end) }
      } else {
        state = descriptor >= 0 ? .opened(descriptor) : .failed(errno: number)
      }
    }
    waker.wake()
  }
}
