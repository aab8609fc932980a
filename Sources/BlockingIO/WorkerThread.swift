import Dispatch
import Glibc
import RTPWire

/// A dedicated thread for blocking work: decoding, and writing to a reader that may be slow.
package final class WorkerThread: Sendable {
  /// Ends waits that last too long.
  ///
  /// A task that sleeps would wake Swift's pool of threads, at which Dispatch looks once a second
  /// from then on.
  private static let deadlines = DispatchQueue(label: "rtp-recv.deadlines")

  private let ended = Monitor(Ending())

  /// How a wait for a thread ended.
  package enum Outcome: Sendable, Hashable {
    /// The thread's work has ended.
    case ended
    /// The work continues, but is stuck beyond reach, so nobody waits for it any more.
    case released
  }

  private struct Ending {
    var outcome: Outcome?
    var waiters: [CheckedContinuation<Outcome, Never>] = []
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
        WorkerThread.end(work.thread.ended, .ended)
        return nil
      }, work.toOpaque())
    guard code == 0 else {
      unsafe work.release()
      throw ThreadError(code: code)
    }
    pthread_detach(thread)
  }

  /// Returns when the thread's work has ended.
  ///
  /// - Parameter limit: the time after which all waits end although the work continues; `nil` for a
  ///   thread that is never stuck.
  /// - Returns: how the wait ended.
  @discardableResult
  package func join(within limit: Duration? = nil) async -> Outcome {
    if let limit {
      let time = DispatchTimeInterval.nanoseconds(Int(limit.wholeNanoseconds))
      // What has ended by then stays ended.
      Self.deadlines.asyncAfter(deadline: .now() + time) { [ended] in Self.end(ended, .released) }
    }
    return await withCheckedContinuation { continuation in
      let outcome = ended.update { ending in
        if ending.outcome == nil { ending.waiters.append(continuation) }
        return ending.outcome
      }
      if let outcome { continuation.resume(returning: outcome) }
    }
  }

  private static func end(_ ended: Monitor<Ending>, _ outcome: Outcome) {
    let (outcome, waiters) = ended.update { ending in
      let first = ending.outcome ?? outcome
      ending.outcome = first
      defer { ending.waiters = [] }
      return (first, ending.waiters)
    }
    for waiter in waiters { waiter.resume(returning: outcome) }
  }
}

/// The system granted no thread; `code` is the `errno` value of `pthread_create`.
public struct ThreadError: Error, Sendable, Hashable {
  public let code: Int32
}

extension ThreadError: CustomStringConvertible {
  public var description: String {
    unsafe "the system grants no more threads: \(String(cString: strerror(code))); receive fewer "
      + "cameras, or raise the limit of processes (ulimit -u, or TasksMax= of a service)"
  }
}
