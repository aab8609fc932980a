import RTPWire
import Transports

/// How a run continues when its connection ends or cannot be opened.
public struct Reconnection: Sendable, Hashable {
  /// The first wait; each further one is twice as long.
  public var firstDelay: Duration = .milliseconds(500)
  /// The longest wait.
  public var longestDelay: Duration = .seconds(30)
  /// The shortest wait after refused credentials: many cameras lock an account for some minutes
  /// after a few attempts.
  public var delayAfterRefusal: Duration = .seconds(30)
  /// How long media may pause before a connection counts as dead.
  ///
  /// Applies where the transport does not detect this itself; a listener has nothing to reconnect
  /// to.
  public var silence: Duration = .seconds(5)

  public init() {}
}

/// When to try again, as a value: events and `now` go in, a time comes out.
struct ReconnectSchedule<Randomness: RandomNumberGenerator & Sendable>: Sendable {
  enum Decision: Sendable, Hashable {
    case retry(at: Instant)
    /// Another attempt would fail again.
    case giveUp
  }

  private let reconnection: Reconnection
  private var randomness: Randomness
  /// Consecutive failures.
  private var failures = 0

  init(_ reconnection: Reconnection, randomness: Randomness) {
    self.reconnection = reconnection
    self.randomness = randomness
  }

  /// Notes that a connection ended at `now`, after media had flowed for `flow`.
  mutating func connectionEnded(
    at now: Instant, after flow: Duration, fault: ConnectionFault
  ) -> Decision {
    if fault == .permanent { return .giveUp }
    if flow >= steadiness { failures = 0 }
    let doublings = min(failures, 30)
    failures += 1
    var delay = min(reconnection.firstDelay * Double(1 << doublings), reconnection.longestDelay)
    // So that a hundred receivers of one server do not all return at once.
    delay = delay * Double.random(in: 1 - jitter...1 + jitter, using: &randomness)
    switch fault {
    case .login: delay = max(delay, reconnection.delayAfterRefusal)
    // No header may keep a receiver away for hours.
    case .busy(let wait): delay = max(delay, min(wait, reconnection.longestDelay))
    case .transient, .permanent: break
    }
    return .retry(at: now.advanced(by: delay))
  }

  /// After this much media a connection counts as good: a server that fails right after each start
  /// must not be asked twice a second forever.
  private var steadiness: Duration { .seconds(10) }
  private var jitter: Double { 0.2 }
}
