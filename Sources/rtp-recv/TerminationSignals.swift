import Dispatch
import Glibc

/// SIGINT and SIGTERM: the first one asks for an orderly end, the second one for an immediate one.
final class TerminationSignals {
  private let sources: [any DispatchSourceSignal]

  /// Calls `first` on the first signal and `again` on every later one, on a queue of its own.
  init(first: @escaping @Sendable () -> Void, again: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "rtp-recv.signals")
    let count = Count()
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { count.next() == 1 ? first() : again() }
      source.resume()
      return source
    }
  }

  /// How many signals came; used on the signals' queue alone.
  private final class Count: @unchecked Sendable {
    private var value = 0
    func next() -> Int {
      value += 1
      return value
    }
  }
}
