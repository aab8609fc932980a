import Glibc
import Synchronization

/// Opens a named pipe for writing as soon as it has a reader.
///
/// open(2) waits for the reader, and nothing but a reader ends that wait. So it waits on a thread of
/// its own, and whoever gives up becomes the reader that it waits for.
final class NamedPipeOpening: Sendable {
  /// `O_PATH` of <linux/fcntl.h>, which Swift's Glibc leaves out.
  private static let pathOnly: Int32 = 0o10_000_000

  private enum State {
    case waiting
    case opened(Int32)
    case failed(errno: Int32)
    /// Nobody waits for the result; the reading end that ended the wait of the thread.
    case abandoned(readEnd: Int32)
  }

  private let state = Mutex(State.waiting)
  /// Stands for the pipe, whatever becomes of its name.
  private let handle: Int32
  private let waker: Waker

  /// Opens `path`, not blocking, before `deadline`.
  ///
  /// - Throws: ``WriteFailure/noReader`` or ``WriteFailure/cannotOpen(errno:)``.
  static func open(_ path: String, until deadline: WriteDeadline) throws(WriteFailure) -> Int32 {
    guard !deadline.isPast else { throw .noReader }
    let opening = try NamedPipeOpening(path)
    do {
      _ = try WorkerThread { opening.run() }
    } catch {
      throw .cannotOpen(errno: error.code)
    }
    let outcome = deadline.wait(for: opening.waker.descriptor, POLLIN)
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

  /// The descriptor, if there is one; from now on nobody waits.
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

  /// Waits for a reader; on the thread.
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
