import NIOCore

/// Gives the sockets of an event loop their turn while its own tasks are late.
///
/// SwiftNIO reads nothing before it has run all tasks that are due, with those that they make. A
/// sender that is too slow for its times would never hear its clients.
struct LoopTurns {
  /// The longest without a look at the sockets.
  private static let longest = TimeAmount.milliseconds(10)
  /// Longer than it takes the loop to find out that nothing is due.
  private static let pause = TimeAmount.microseconds(50)

  private var lastPause = NIODeadline.uptimeNanoseconds(0)

  /// When to run what is due at `due`.
  mutating func deadline(for due: NIODeadline, at now: NIODeadline) -> NIODeadline {
    var deadline = due
    if due <= now, now - lastPause >= Self.longest { deadline = now + Self.pause }
    if deadline > now { lastPause = deadline }
    return deadline
  }
}
