import RTPWire

/// How long it takes until a process is replaced: a stream that ends each one must not keep the
/// machine busy with starting others.
struct RestartPause: Sendable {
  /// Doublings of the least pause.
  private static let most = 5

  /// In nanoseconds.
  private let least: Int64
  private var lastStart: Instant?
  /// How many processes in turn were lost before they gave a frame.
  private var barren = 0

  init(least: Duration) { self.least = least.wholeNanoseconds }

  mutating func noteStart(at now: Instant) { lastStart = now }

  mutating func noteFrame() { barren = 0 }

  mutating func noteLoss() { barren += 1 }

  /// Whether another process may be started: the least pause after the last one if that gave
  /// frames, later if not, after 32 times as long at most.
  func isOver(at now: Instant) -> Bool {
    guard let lastStart else { return true }
    let pause = least << min(max(barren - 1, 0), Self.most)
    return lastStart.nanoseconds(to: now) >= pause
  }
}
