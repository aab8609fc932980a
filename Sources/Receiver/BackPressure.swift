/// What becomes of what comes while whoever iterates is busy with something else.
public enum BackPressure: Sendable, Hashable {
  /// The newest one waits, and those before it are dropped: for whoever shows what is now.
  case latest
  /// At most so many wait, at least one; the oldest are dropped.
  case atMost(Int)
  /// None is dropped. The decoder waits, and so does the sender where its carrier can make it; what
  /// comes from others meanwhile is dropped in front of the decoder, and counted there.
  case everyOne
}
