/// The clock of arrival times (``Datagram/arrival``), which all waiting for packets follows.
public enum ArrivalClock: Sendable, Hashable {
  /// The machine's monotonic clock at the time of the read: packets that do not come are late.
  case monotonic
  /// A recording's clock, in nanoseconds since 1970 if known: the next packet follows the last one
  /// whenever it is delivered, and waiting loses nothing.
  case recorded

  /// Whether arrivals are times of this machine, so that time passes while nothing comes.
  public var isLive: Bool { self == .monotonic }
}
