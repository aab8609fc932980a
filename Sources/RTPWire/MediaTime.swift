/// A media timestamp as an exact rational: `ticks / timescale` seconds on the stream's timeline.
///
/// Ticks are the RTP timestamp (RFC 3550 §5.1) unwrapped to 64 bits, enough for three million years
/// at 90 kHz.
public struct MediaTime: Sendable, Hashable {
  /// Clock ticks since the start of the timeline.
  public var ticks: Int64
  /// Ticks a second; the RTP clock rate, never 0.
  public var timescale: UInt32

  /// Makes a time of `ticks` at `timescale` ticks a second; a timescale of 0 is taken as 1.
  public init(ticks: Int64, timescale: UInt32) {
    self.ticks = ticks
    self.timescale = max(timescale, 1)
  }

  /// The time in nanoseconds, rounded toward zero; saturates.
  public var nanoseconds: Int64 {
    let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Int64(timescale))
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    return scaled.addingSaturating(rest * 1_000_000_000 / Int64(timescale))
  }

  /// From `other`, of the same timescale, to this, in nanoseconds rounded toward zero; saturates.
  package func nanoseconds(since other: MediaTime) -> Int64 {
    MediaTime(ticks: ticks.subtractingSaturating(other.ticks), timescale: timescale).nanoseconds
  }

  /// The time in seconds, rounded to a `Double`, for display only.
  public var seconds: Double { Double(ticks) / Double(timescale) }

  /// The time `nanoseconds` later, or earlier when negative, to the nearest tick; saturates.
  public func advanced(byNanoseconds nanoseconds: Int64) -> MediaTime {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: Int64(timescale))
    let half: Int64 = rest < 0 ? -500_000_000 : 500_000_000
    let fraction = (rest * Int64(timescale) + half) / 1_000_000_000
    let later = overflow ? (seconds < 0 ? .min : .max) : whole.addingSaturating(fraction)
    return MediaTime(ticks: ticks.addingSaturating(later), timescale: timescale)
  }
}
