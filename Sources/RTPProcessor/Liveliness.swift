import RTPWire

/// How often packets of a source arrive, to tell a pause between two frames from the source's end.
///
/// It counts nanoseconds, because arithmetic on `Duration` takes long for each packet.
struct Liveliness: Sendable {
  private static let period: Int64 = 1_000_000_000

  private(set) var lastArrival: Instant
  private var longestGap: Int64 = 0
  /// That of the period before; `nil` until one is over.
  private var longestGapBefore: Int64?
  private var periodStart: Instant

  init(first: Instant) {
    lastArrival = first
    periodStart = first
  }

  mutating func note(_ arrival: Instant) {
    if periodStart.nanoseconds(to: arrival) > Self.period {
      longestGapBefore = longestGap
      longestGap = 0
      periodStart = arrival
    }
    longestGap = max(longestGap, lastArrival.nanoseconds(to: arrival))
    lastArrival = max(lastArrival, arrival)
  }

  /// Whether the silence at `now` is longer than this source's pauses, so far.
  func pausesUnusually(at now: Instant) -> Bool {
    max(longestGap, longestGapBefore ?? 0) < lastArrival.nanoseconds(to: now)
  }

  /// When the silence is longer than this source's pauses.
  ///
  /// Twice the longest pause of the last seconds, at least 0.5 s (networks pause too) and at most 2
  /// s.
  var silentFrom: Instant {
    // Until a source has been observed for a while, it may be one that sends a frame a second.
    let pause = max(longestGap, longestGapBefore ?? Self.period)
    return lastArrival.advanced(
      byNanoseconds: min(max(pause.addingSaturating(pause), 500_000_000), 2_000_000_000))
  }
}
