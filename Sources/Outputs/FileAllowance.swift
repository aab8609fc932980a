import RTPWire

/// How many files an output may begin because the stream changed, so that one that changes with
/// every picture does not fill a folder.
struct FileAllowance {
  /// Files that may follow each other at once: more than any connection that comes and goes makes.
  private static let burst: Int64 = 64
  /// How often one more is allowed, afterwards.
  private static let interval = Duration.seconds(1)

  /// When all of them are allowed again.
  private var restored = Instant(nanoseconds: .min)

  /// Whether a file may begin.
  func allowsFile(at now: Instant) -> Bool {
    now.nanoseconds(to: restored) <= (Self.burst - 1) * Self.interval.wholeNanoseconds
  }

  /// Takes note that a file begins.
  mutating func noteFile(at now: Instant) {
    restored = max(restored, now).advanced(by: Self.interval)
  }
}
