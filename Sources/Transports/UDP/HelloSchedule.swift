internal import RTPWire

/// When a client of the hello protocol sends something to its server, on any clock.
///
/// Hellos open the way through NATs and start the stream: one at once, then more with growing
/// pauses until media arrives. They start again when media has stopped for a while, because the
/// server may have restarted or a NAT may have forgotten the way. Heartbeats show the server that
/// the client is still there: one every interval from the start, whether or not media flows.
/// Nothing that arrives causes anything to be sent, and a clock that jumps ahead causes one
/// message, not all that were missed.
struct HelloSchedule: Sendable {
  enum Message: Sendable, Hashable {
    case hello
    case heartbeat
  }

  /// When ``poll(now:)`` next has something to send.
  var deadline: Instant { nextHello.map { min($0, nextHeartbeat) } ?? nextHeartbeat }

  private let interval: Duration
  private var nextHello: Instant?
  private var nextHeartbeat: Instant
  private var pause = Self.firstPause
  private var hellosLeft = Self.maximumHellos

  /// Starts with a hello due at `start`; `interval` is raised to ``minimumInterval`` if shorter.
  init(start: Instant, interval: Duration) {
    self.interval = max(interval, Self.minimumInterval)
    nextHello = start
    nextHeartbeat = start.advanced(by: self.interval)
  }

  /// Removes one due message; call until it returns `nil`.
  mutating func poll(now: Instant) -> Message? {
    if let due = nextHello, due <= now {
      hellosLeft -= 1
      nextHello = hellosLeft > 0 ? now.advanced(by: pause) : nil
      pause = min(pause * 2, Self.longestPause)
      return .hello
    }
    guard nextHeartbeat <= now else { return nil }
    nextHeartbeat = now.advanced(by: interval)
    return .heartbeat
  }

  /// Postpones the hellos, because the server sends; call it for every packet of media.
  ///
  /// - Returns: whether ``deadline`` may have become earlier, because there were no more hellos.
  @discardableResult
  mutating func mediaArrived(at now: Instant) -> Bool {
    let hadGivenUp = nextHello == nil
    nextHello = now.advanced(byNanoseconds: Self.silence)
    pause = Self.firstPause
    hellosLeft = Self.maximumHellos
    return hadGivenUp
  }

  /// The pause after the first hello; it doubles each time.
  static let firstPause = Duration.milliseconds(250)
  static let longestPause = Duration.seconds(5)
  /// A server that has not answered for about 80 s will not answer; heartbeats continue.
  static let maximumHellos = 20
  /// How long media may pause before hellos start again; senders of single pictures pause too.
  static let silenceBeforeHello = Duration.seconds(5)
  /// The same in nanoseconds, because arithmetic on `Duration` takes long for each packet.
  private static let silence = silenceBeforeHello.wholeNanoseconds
  /// The shortest time between heartbeats, to prevent a flood.
  static let minimumInterval = Duration.seconds(1)
  /// The longest hello or heartbeat in bytes: a client must not be an amplifier.
  static let maximumPayload = 64
}
