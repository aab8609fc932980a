import Dispatch
import Glibc
import Synchronization

/// SIGINT and SIGTERM, which ask for an orderly end.
///
/// There is one for the whole run: on Linux, libdispatch loses the signals of a source that comes
/// after one that was cancelled.
final class TerminationSignals {
  /// How long a run that is still beginning may take to end in order.
  ///
  /// An opening that hangs must not keep anybody from ending the program.
  private static let patience = DispatchTimeInterval.seconds(2)

  private let sources: [any DispatchSourceSignal]
  private let target: Target

  private final class Target: Sendable {
    private struct State {
      var stop: (@Sendable () -> Void)?
      var hasCome = false
    }

    private let state = Mutex(State())

    var canStop: Bool { state.withLock { $0.stop != nil } }

    func signalCame() {
      let stop = state.withLock { state in
        state.hasCome = true
        return state.stop
      }
      stop?()
    }

    func call(_ stop: @escaping @Sendable () -> Void) {
      let hasCome = state.withLock { state in
        state.stop = stop
        return state.hasCome
      }
      if hasCome { stop() }
    }
  }

  /// Calls `stop`, or what ``call(_:)`` names, for every such signal, on a separate queue.
  init(_ stop: (@Sendable () -> Void)? = nil) {
    // A reader of standard output that goes away is an error to be reported, not a death.
    signal(SIGPIPE, SIG_IGN)
    let queue = DispatchQueue(label: "rtp-send.signals")
    let target = Target()
    if let stop { target.call(stop) }
    self.target = target
    sources = [SIGINT, SIGTERM].map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        target.signalCame()
        queue.asyncAfter(deadline: .now() + Self.patience) {
          // What a shell says of a program that died of the signal.
          if !target.canStop { exit(128 + number) }
        }
      }
      // libdispatch takes the signal over on another thread. A signal that is ignored until then
      // would be lost; with its default effect, it ends a run that has not begun.
      let isTaken = DispatchSemaphore(value: 0)
      source.setRegistrationHandler { isTaken.signal() }
      source.resume()
      isTaken.wait()
      return source
    }
  }

  /// Calls `stop` for every signal from now on; at once if one has come already.
  func call(_ stop: @escaping @Sendable () -> Void) { target.call(stop) }

  func cancel() { for source in sources { source.cancel() } }
}
