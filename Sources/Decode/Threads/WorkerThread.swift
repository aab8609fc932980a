import Glibc

/// A dedicated thread for blocking work: decoding, and writing to a reader that may be slow.
package final class WorkerThread: Sendable {
  private let ended = Monitor(Ending())

  private struct Ending {
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// The work, handed over once and owned by the thread from then on.
  private final class Work {
    let thread: WorkerThread
    let body: () -> Void

    init(thread: WorkerThread, body: @escaping () -> Void) {
      self.thread = thread
      self.body = body
    }
  }

  /// Starts a thread that runs `body` and ends.
  ///
  /// SIGPIPE and SIGXFSZ are blocked on it, so that a closed pipe and the file size limit are
  /// errors of the write (EPIPE, EFBIG), whatever the program does with signals.
  ///
  /// - Throws: ``ThreadError`` when the system grants no thread.
  package init(_ body: sending @escaping () -> Void) throws(ThreadError) {
    let work = unsafe Unmanaged.passRetained(Work(thread: self, body: body))
    var thread = pthread_t()
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let work = unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
        var blocked = sigset_t()
        unsafe sigemptyset(&blocked)
        unsafe sigaddset(&blocked, SIGPIPE)
        unsafe sigaddset(&blocked, SIGXFSZ)
        unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
        work.body()
        work.thread.end()
        return nil
      }, work.toOpaque())
    guard code == 0 else {
      unsafe work.release()
      throw ThreadError(code: code)
    }
    pthread_detach(thread)
  }

  /// Returns when the thread's work has ended.
  package func join() async {
    await withCheckedContinuation { continuation in
      let hasEnded = ended.update { ending in
        if !ending.hasEnded { ending.waiters.append(continuation) }
        return ending.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  /// Ends all waits in ``join()`` although the work goes on, because it is stuck beyond reach.
  package func release() { end() }

  private func end() {
    let waiters = ended.update { ending in
      ending.hasEnded = true
      defer { ending.waiters = [] }
      return ending.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

/// The system granted no thread; `code` is the `errno` value of `pthread_create`.
public struct ThreadError: Error, Sendable, Hashable {
  public let code: Int32
}
