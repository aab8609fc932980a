/// The times of the last pictures, in the order in which they are decoded.
struct RecentTimes: Sendable {
  private var times: [Int64] = []

  /// Whether `time` lies before all of them.
  ///
  /// That of a B picture does not: the picture that is shown before it is decoded before it, even
  /// where the newest is shown many seconds later.
  func areAll(after time: Int64) -> Bool { times.allSatisfy { time < $0 } }

  /// Appends the time of a picture, of whose stream up to `depth` pictures precede one in decoding
  /// order and follow it in output order; `nil` where it does not say how many.
  mutating func append(_ time: Int64, depth: Int?) {
    times.append(time)
    let count = 1 + min(depth ?? DecodingTimes.greatestDepth, DecodingTimes.greatestDepth)
    if times.count > count { times.removeFirst(times.count - count) }
  }

  /// Begins anew, because times before a leap say nothing of those behind it.
  mutating func restart(at time: Int64) { times = [time] }
}
