import RTPWire

/// How often and how long the picture stood still, by the times of the frames that came out.
///
/// As in the statistics of WebRTC: a frame that stands for three times as long as others did on average,
/// and at least 150 ms longer.
struct FreezeMeter: Sendable {
  private(set) var statistics = FreezeStatistics()
  private var last: MediaTime?
  /// The mean time that a frame is shown, each new one weighing a thirtieth.
  private var mean = 0.0

  /// Takes in a frame that shows something new.
  mutating func note(_ time: MediaTime) {
    defer { last = time }
    guard let last else { return }
    let shown = time.seconds - last.seconds
    guard shown > 0 else { return }
    if mean > 0, shown > max(3 * mean, mean + 0.15) {
      statistics.count += 1
      statistics.seconds += shown
      statistics.longest = max(statistics.longest, shown)
    } else {
      mean = mean == 0 ? shown : mean + (shown - mean) / 30
    }
  }
}

/// Times at which the picture stood still.
public struct FreezeStatistics: Sendable, Hashable {
  public internal(set) var count: UInt64 = 0
  /// Media time in all, in seconds.
  public internal(set) var seconds = 0.0
  /// The longest, in seconds of media time.
  public internal(set) var longest = 0.0
}
