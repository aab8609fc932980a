import BlockingIO
import Glibc
package import RTPWire

/// Turns arrivals into UTC.
public struct WallClock: Sendable {
  /// How much UTC is ahead of the clock of arrivals now, in nanoseconds.
  let offset: @Sendable () -> Int64
  /// Whether what arrives arrives now, and is lost if it is not written.
  let isLive: Bool

  public init(isLive: Bool = true, offset: @escaping @Sendable () -> Int64) {
    (self.isLive, self.offset) = (isLive, offset)
  }

  /// This machine's clock, for streams that are received now.
  public static let system = WallClock {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0 else { return 0 }
    let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    return now.subtractingSaturating(Instant.now.nanoseconds)
  }

  /// For recordings of packets, whose arrivals are UTC.
  public static let recorded = WallClock(isLive: false) { 0 }

  /// When something arrived, by what the clock says now.
  package func time(of arrival: Instant) -> WallClockTime {
    WallClockTime(nanoseconds: arrival.nanoseconds).advanced(byNanoseconds: offset())
  }
}
