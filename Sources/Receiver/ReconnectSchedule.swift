import RTPWire
import Transports

/// When to connect again: after half a second, then twice as long each time, up to half a minute.
///
/// Each wait is up to a fifth shorter or longer, so that the clients of a server that restarts do not
/// all come at once.
struct ReconnectSchedule: Sendable {
  static let first = Duration.milliseconds(500)
  static let longest = Duration.seconds(30)
  /// Media that flowed for so long shows that the connection was a good one.
  static let recovery = Duration.seconds(10)

  private var next = first

  /// How long to wait after `fault`; `nil` when there is no use in trying again.
  ///
  /// `randomness` is from 0 up to 1.
  mutating func wait(after fault: ConnectionFault, randomness: Double) -> Duration? {
    guard fault != .permanent else { return nil }
    let base = fault == .login ? Self.longest : next
    next = min(next * 2, Self.longest)
    // Never sooner after a refused login: cameras count attempts by the minute.
    let spread = fault == .login ? randomness * 0.2 : randomness * 0.4 - 0.2
    return base * (1 + spread)
  }

  /// Media has flowed for `time` since the last connection.
  mutating func noteMedia(for time: Duration) {
    if time >= Self.recovery { next = Self.first }
  }
}
