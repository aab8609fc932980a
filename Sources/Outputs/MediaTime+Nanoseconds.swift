import RTPWire

extension MediaTime {
  /// From `other`, of the same clock, to this, in nanoseconds; saturates.
  func nanoseconds(since other: MediaTime) -> Int64 {
    MediaTime(ticks: ticks.subtractingSaturating(other.ticks), timescale: timescale).nanoseconds
  }

  /// Nanoseconds since the start of the timeline; saturates.
  var nanoseconds: Int64 {
    let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Int64(timescale))
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return ticks < 0 ? .min : .max }
    return whole.addingSaturating(rest * 1_000_000_000 / Int64(timescale))
  }
}
