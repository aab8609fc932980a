/// The clock that counts the ticks of a track, against the time that all tracks share.
public struct MediaClock: Sendable, Hashable {
  /// The clock of all video.
  public static let video = MediaClock(rate: 90_000)

  /// Ticks a second, as the session description says.
  public let rate: Int
  /// How much faster than that it is, in millionths.
  public let deviation: Double

  public init(rate: Int, deviation: Double = 0) {
    self.rate = max(1, rate)
    self.deviation = deviation
  }

  private var ticksPerNanosecond: Double { Double(rate) * (1 + deviation / 1e6) / 1e9 }

  /// The shared time of `ticks`.
  public func nanoseconds(of ticks: Int64) -> Int64 {
    Int64(clamping: (Double(ticks) / ticksPerNanosecond).rounded())
  }

  /// The tick that is nearest to a shared time.
  public func ticks(of nanoseconds: Int64) -> Int64 {
    Int64(clamping: (Double(nanoseconds) * ticksPerNanosecond).rounded())
  }
}
