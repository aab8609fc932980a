import BlockingIO
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
  public static let system = WallClock { UTC.lead }

  /// That of the arrivals themselves, for recordings of packets, whose arrivals are UTC.
  public static let arrivals = WallClock(isLive: false) { 0 }

  /// When something arrived, by what the clock says now.
  package func time(of arrival: Instant) -> WallClockTime {
    WallClockTime(nanoseconds: arrival.nanoseconds).advanced(byNanoseconds: offset())
  }
}
