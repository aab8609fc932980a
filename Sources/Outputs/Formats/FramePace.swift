import RTPWire

/// How many frames came in a second, over all of them.
struct FramePace: Sendable {
  /// A longer step is a pause, or another timeline, in seconds.
  private static let longestStep = 2.0
  /// A shorter time shows nothing, in seconds.
  private static let shortestTime = 1.0
  /// By how much the rate may differ from the one that is said: a frame of a few seconds may be
  /// missing.
  private static let tolerance = 0.05

  private var latest: MediaTime?
  /// Frames that followed another one, and the time that they took in seconds.
  private var frames = 0
  private var time = 0.0

  /// Takes the time of the next frame.
  mutating func note(_ next: MediaTime) {
    guard let latest else { return latest = next }
    let step = next.seconds - latest.seconds
    guard abs(step) <= Self.longestStep else { return self.latest = next }
    frames += 1
    // Where times are out of order, the later one counts.
    guard step > 0 else { return }
    time += step
    self.latest = next
  }

  /// The rate that the frames had, if it is not the one that is `said`.
  func rate(otherThan said: Double) -> Double? {
    guard time >= Self.shortestTime else { return nil }
    let shown = Double(frames) / time
    return abs(shown / said - 1) > Self.tolerance ? shown : nil
  }
}
