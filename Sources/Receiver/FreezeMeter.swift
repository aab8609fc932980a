import RTPWire

/// How often and how long the picture froze, by the times of the output frames and of those that
/// are left out.
///
/// As in the statistics of WebRTC: a freeze is a frame shown for three times the mean duration, and
/// at least 150 ms longer. No freeze is longer than the time between two arrivals, whatever the
/// timestamps say.
struct FreezeMeter: Sendable {
  private var ended = FreezeStatistics()
  private var last: MediaTime?
  /// The time of the last new picture.
  private var lastNew: MediaTime?
  /// The arrivals of the last frame, and of the last new picture.
  private var lastArrival: Instant?
  private var lastNewArrival: Instant?
  /// The mean time between frames, each new one weighing a thirtieth.
  private var mean = 0.0

  /// The totals, the current freeze included.
  var statistics: FreezeStatistics {
    guard let last, let lastNew else { return ended }
    return ended.adding(standing(from: lastNew, to: last, arrival: lastArrival), over: limit)
  }

  /// The longest time a frame may be shown without being a freeze.
  private var limit: Double { mean > 0 ? max(3 * mean, mean + 0.15) : .infinity }

  /// Notes a frame, which is new or repeats the previous one; one that is left out counts as
  /// repeated, because the previous one stands as long.
  ///
  /// Without `arrival`, the timestamp alone counts.
  mutating func note(_ time: MediaTime, isNew: Bool, arrival: Instant? = nil) {
    let step = last.map { time.seconds - $0.seconds } ?? 0
    if step > 0 {
      // The first step may span a freeze.
      if mean == 0 || 3 * step < mean {
        mean = step
      } else if step <= limit {
        mean += (step - mean) / 30
      }
    }
    last = time
    lastArrival = arrival
    guard isNew else { return }
    if let lastNew {
      ended = ended.adding(standing(from: lastNew, to: time, arrival: arrival), over: limit)
    }
    lastNew = time
    lastNewArrival = arrival
  }

  /// How long a picture was shown, in seconds.
  private func standing(from start: MediaTime, to end: MediaTime, arrival: Instant?) -> Double {
    let told = end.seconds - start.seconds
    guard let lastNewArrival, let arrival else { return told }
    return min(told, max(0, lastNewArrival.duration(to: arrival).seconds))
  }
}

/// Freezes of the picture.
public struct FreezeStatistics: Sendable, Hashable {
  public internal(set) var count: UInt64 = 0
  /// Total media time, in seconds.
  public internal(set) var seconds = 0.0
  /// The longest, in seconds of media time.
  public internal(set) var longest = 0.0

  /// Adds a frame shown for `seconds`, if that exceeds `limit`.
  fileprivate func adding(_ seconds: Double, over limit: Double) -> FreezeStatistics {
    guard seconds > limit else { return self }
    var sum = self
    sum.count += 1
    sum.seconds += seconds
    sum.longest = max(sum.longest, seconds)
    return sum
  }
}
