internal import RTPWire

/// When a client of the hello protocol has something to say to its server, on any clock.
///
/// Hellos open the way through NATs and start the stream: one at once, then again with growing
/// pauses until media arrives; and all of it anew when media has stopped for a while, since the
/// server may have begun anew and a NAT may have forgotten the way. Heartbeats tell the server that
/// the client is still there: one every interval from the start on, whether or not media flows.
/// What arrives never causes anything to be sent, and a clock that jumps ahead brings one message,
/// not those that were missed.
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

  /// Takes out one message that is due; to be called again until it returns `nil`.
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

  /// Puts the hellos off, since the server sends; to be called for every packet of media.
  mutating func mediaArrived(at now: Instant) {
    nextHello = now.advanced(by: Self.silenceBeforeHello)
    pause = Self.firstPause
    hellosLeft = Self.maximumHellos
  }

  /// The pause after the first hello; it doubles from hello to hello.
  static let firstPause = Duration.milliseconds(250)
  static let longestPause = Duration.seconds(5)
  /// A server that has not answered for about 80 s will not answer; the heartbeat goes on.
  static let maximumHellos = 20
  /// How long media may pause before the server is greeted again; senders of single pictures pause
  /// too.
  static let silenceBeforeHello = Duration.seconds(5)
  /// The shortest time between heartbeats, so that they cannot become a flood.
  static let minimumInterval = Duration.seconds(1)
  /// The longest hello or heartbeat in bytes: a client must not be an amplifier.
  static let maximumPayload = 64
}
