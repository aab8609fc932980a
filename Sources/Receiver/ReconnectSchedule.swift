import RTPWire
import Transports

/// How a run goes on when its connection ends or cannot be opened.
public struct Reconnection: Sendable, Hashable {
  /// How long the first wait is; each further one is twice as long.
  public var firstDelay: Duration = .milliseconds(500)
  public var longestDelay: Duration = .seconds(30)
  /// The least wait after refused credentials: many cameras lock an account for some minutes after
  /// a few attempts.
  public var delayAfterRefusal: Duration = .seconds(30)
  /// How long media may pause, at the start of a connection or in its middle, before that counts as
  /// dead; where the transport does not see to that itself, and is no listener, who has nothing to
  /// connect to.
  public var silence: Duration = .seconds(5)

  public init() {}
}

/// When to try again, as a value: what happened and `now` go in, a time comes out.
struct ReconnectSchedule<Randomness: RandomNumberGenerator & Sendable>: Sendable {
  enum Decision: Sendable, Hashable {
    case retry(at: Instant)
    /// It would fail again.
    case giveUp
  }

  private let reconnection: Reconnection
  private var randomness: Randomness
  /// How often in a row it has come to nothing.
  private var failures = 0

  init(_ reconnection: Reconnection, randomness: Randomness) {
    self.reconnection = reconnection
    self.randomness = randomness
  }

  /// A connection has ended at `now`, after media had flowed on it for `flow`.
  mutating func connectionEnded(
    at now: Instant, after flow: Duration, fault: ConnectionFault
  ) -> Decision {
    if fault == .permanent { return .giveUp }
    if flow >= steadiness { failures = 0 }
    let doublings = min(failures, 30)
    failures += 1
    var delay = min(reconnection.firstDelay * Double(1 << doublings), reconnection.longestDelay)
    // So that a hundred receivers of one server do not all come back at once.
    delay = delay * Double.random(in: 1 - jitter...1 + jitter, using: &randomness)
    switch fault {
    case .login: delay = max(delay, reconnection.delayAfterRefusal)
    // Nobody is to be kept away for hours by a number in a header.
    case .busy(let wait): delay = max(delay, min(wait, reconnection.longestDelay))
    case .transient, .permanent: break
    }
    return .retry(at: now.advanced(by: delay))
  }

  /// A connection that carries media for so long was a good one: a server that fails right after
  /// each start is not to be asked twice a second for ever.
  private var steadiness: Duration { .seconds(10) }
  private var jitter: Double { 0.2 }
}
