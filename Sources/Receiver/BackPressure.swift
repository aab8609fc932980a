/// What happens to new elements while the loop's body is busy.
public enum BackPressure: Sendable, Hashable {
  /// The newest one waits and replaces the one before: for live views.
  case latest
  /// At most this many wait, at least one; the oldest are dropped.
  case atMost(Int)
  /// None is dropped. The decoder waits, and so does the sender if its carrier can be held.
  ///
  /// What other senders send meanwhile is dropped before the decoder or, beyond 512 elements and 32
  /// MiB, before the loop, up to the next random-access point; both are counted.
  case everyOne
}
