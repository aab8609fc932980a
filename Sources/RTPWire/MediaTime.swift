/// A media timestamp as an exact rational: `ticks / timescale` seconds on the stream's timeline.
///
/// Ticks are the RTP timestamp (RFC 3550 §5.1) unwrapped to 64 bits: at 90 kHz they last for three
/// million years.
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

  /// The time in seconds, rounded to a `Double`, for display only.
  public var seconds: Double { Double(ticks) / Double(timescale) }
}

/// A ratio of two positive integers, such as a frame rate or a sample aspect ratio.
public struct Rational: Sendable, Hashable {
  public var numerator: UInt32
  /// Never 0.
  public var denominator: UInt32

  /// Makes `numerator / denominator`, or `nil` when either is 0, since no ratio here may be.
  public init?(_ numerator: UInt32, _ denominator: UInt32) {
    guard numerator > 0, denominator > 0 else { return nil }
    self.numerator = numerator
    self.denominator = denominator
  }

  /// The ratio rounded to a `Double`.
  public var value: Double { Double(numerator) / Double(denominator) }
}
