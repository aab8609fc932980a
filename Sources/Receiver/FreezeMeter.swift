import RTPWire

/// How often and how long the picture stood still, by the times of the frames that came out.
///
/// As in the statistics of WebRTC: a frame that stands for three times as long as others did on
/// average, and at least 150 ms longer. No picture stands longer than time went by between two
/// arrivals, whatever the timestamps say.
struct FreezeMeter: Sendable {
  private var ended = FreezeStatistics()
  private var last: MediaTime?
  /// The last frame that showed something new.
  private var lastNew: MediaTime?
  /// When the last frame came, and the last one that showed something new.
  private var lastArrival: Instant?
  private var lastNewArrival: Instant?
  /// The mean time from frame to frame, each new one weighing a thirtieth.
  private var mean = 0.0

  /// With the one that goes on.
  var statistics: FreezeStatistics {
    guard let last, let lastNew else { return ended }
    return ended.adding(standing(from: lastNew, to: last, arrival: lastArrival), over: limit)
  }

  /// How long a frame may stand.
  private var limit: Double { mean > 0 ? max(3 * mean, mean + 0.15) : .infinity }

  /// Takes in a frame, which shows something new or repeats the one before.
  ///
  /// Without `arrival` its timestamp is believed.
  mutating func note(_ time: MediaTime, isNew: Bool, arrival: Instant? = nil) {
    let step = last.map { time.seconds - $0.seconds } ?? 0
    if step > 0 {
      // The first step may be over a freeze.
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

  /// How long a picture stood, in seconds.
  private func standing(from start: MediaTime, to end: MediaTime, arrival: Instant?) -> Double {
    let told = end.seconds - start.seconds
    guard let lastNewArrival, let arrival else { return told }
    return min(told, Double(max(0, lastNewArrival.nanoseconds(to: arrival))) / 1e9)
  }
}

/// Times at which the picture stood still.
public struct FreezeStatistics: Sendable, Hashable {
  public internal(set) var count: UInt64 = 0
  /// Media time in all, in seconds.
  public internal(set) var seconds = 0.0
  /// The longest, in seconds of media time.
  public internal(set) var longest = 0.0

  /// With a frame that stood for `seconds`, if that is above `limit`.
  fileprivate func adding(_ seconds: Double, over limit: Double) -> FreezeStatistics {
    guard seconds > limit else { return self }
    var sum = self
    sum.count += 1
    sum.seconds += seconds
    sum.longest = max(sum.longest, seconds)
    return sum
  }
}
