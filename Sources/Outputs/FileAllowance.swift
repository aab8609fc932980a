package import RTPWire

/// How many files an output may begin because the stream calls for them, so that one that changes
/// with every picture does not fill a folder.
package struct FileAllowance: Sendable {
  /// Files that may follow each other at once: more than any connection that comes and goes makes.
  private static let burst: Int64 = 64

  /// How often one more is allowed, afterwards, in nanoseconds.
  private let interval: Int64
  /// When all of them are allowed again.
  private var restored = Instant(nanoseconds: .min)

  package init(every interval: Duration = .seconds(1)) {
    self.interval = max(1, interval.wholeNanoseconds)
  }

  /// Whether a file may begin.
  package func allowsFile(at now: Instant) -> Bool {
    now.nanoseconds(to: restored) <= interval.multipliedSaturating(by: Self.burst - 1)
  }

  /// Takes note that a file begins.
  package mutating func noteFile(at now: Instant) {
    restored = max(restored, now).advanced(byNanoseconds: interval)
  }
}
