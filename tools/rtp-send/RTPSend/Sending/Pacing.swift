/// How fast packets are sent.
public enum Pacing: Sendable, Hashable {
  /// By the timestamps, `speed` times as fast.
  case mediaTime(speed: Double)
  /// A constant number of packets a second, regardless of timestamps.
  case packetRate(Double)
  /// As fast as they can be made and written.
  case unpaced

  /// How much media time passes in a second.
  public var speed: Double {
    if case .mediaTime(let speed) = self { speed } else { 1 }
  }
}
