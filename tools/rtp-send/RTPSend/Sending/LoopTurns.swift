import NIOCore

/// Gives the sockets of an event loop their turn while its own tasks are late.
///
/// SwiftNIO reads nothing before it has run all tasks that are due, with those that they make. A
/// sender that is too slow for its times would never hear its clients. All that an event loop runs
/// shares its turns: one that pauses alone leaves the loop to another that is late.
struct LoopTurns {
  /// The longest without a look at the sockets.
  private static let longest = TimeAmount.milliseconds(10)
  /// Longer than it takes the loop to find out that nothing is due.
  private static let pause = TimeAmount.microseconds(50)

  private var pauseEnd = NIODeadline.uptimeNanoseconds(0)

  /// When to run what is due at `due`: what is late waits for the end of a pause.
  mutating func deadline(for due: NIODeadline, at now: NIODeadline) -> NIODeadline {
    guard due <= now else { return due }
    if now - pauseEnd >= Self.longest { pauseEnd = now + Self.pause }
    return max(due, pauseEnd)
  }
}
