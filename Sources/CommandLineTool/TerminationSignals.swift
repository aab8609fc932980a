import Dispatch
import Glibc

/// The signals that end a run, and the one that asks for its figures.
///
/// SIGINT, SIGTERM and SIGHUP ask for an orderly end, a second one of them for an immediate end; of
/// a fleet, SIGHUP asks to read its file again. SIGUSR1 asks for the figures so far.
final class TerminationSignals {
  private let sources: [any DispatchSourceSignal]

  /// Calls `first` for the first signal, `again` for every later one, `inquiry` for SIGUSR1, and
  /// `reload` for SIGHUP, all on a queue of its own.
  init(
    first: @escaping @Sendable () -> Void, again: @escaping @Sendable () -> Void,
    inquiry: @escaping @Sendable () -> Void, reload: (@Sendable () -> Void)? = nil
  ) {
    let queue = DispatchQueue(label: "rtp-recv.signals")
    let requests = Requests()
    sources = [SIGINT, SIGTERM, SIGHUP, SIGUSR1].compactMap { number in
      // Under `nohup`, hang-ups stay ignored.
      if number == SIGHUP, reload == nil {
        let former = signal(number, SIG_IGN)
        if Self.isIgnoring(former) { return nil }
        signal(number, former)
      }
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        guard number != SIGUSR1 else { return inquiry() }
        if number == SIGHUP, let reload { return reload() }
        switch requests.note(number, at: .now) {
        case .first: first()
        case .again: again()
        case .repeated: break
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

  static func isIgnoring(_ handler: sighandler_t?) -> Bool {
    unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// The requests to end; used on the signals' queue alone.
  private final class Requests: @unchecked Sendable {
    enum Kind { case first, again, repeated }

    /// `timeout` and some shells signal the process and then its group, so that one request comes
    /// as the same signal twice.
    ///
    /// At the end of a login, systemd sends SIGTERM and SIGHUP, of which either may be seen first.
    private static let repetition = Duration.milliseconds(500)

    private var lastTaken: [Int32: ContinuousClock.Instant] = [:]
    private var count = 0

    func note(_ number: Int32, at now: ContinuousClock.Instant) -> Kind {
      func isRecent(_ other: Int32) -> Bool {
        lastTaken[other].map { $0.duration(to: now) < Self.repetition } ?? false
      }
      let pair = [SIGTERM, SIGHUP]
      if isRecent(number) || pair.contains(number) && pair.contains(where: isRecent) {
        return .repeated
      }
      lastTaken[number] = now
      count += 1
      return count == 1 ? .first : .again
    }
  }
}
