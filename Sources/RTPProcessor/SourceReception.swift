public import RTPWire

/// The figures of a receiver report about one source (RFC 3550 A.3).
public struct SourceReception: Sendable, Hashable {
  public var ssrc: UInt32
  /// Places in the sequence from the first packet to the highest.
  public var expected: Int64
  /// Packets that came, late ones and duplicates too.
  public var received: Int64
  /// The highest sequence number in the lower 16 bits, the number of wraps in the upper.
  public var highestSequence: UInt32
  /// The interarrival jitter in clock ticks (§6.4.1).
  public var jitter: UInt32
  public var lastSenderReport: SenderReportArrival?
  /// How often the receiver began to count anew, with another source or another numbering of this
  /// one: only figures of the same count compare.
  public var count: UInt64 = 0

  public init(
    ssrc: UInt32, expected: Int64, received: Int64, highestSequence: UInt32, jitter: UInt32,
    lastSenderReport: SenderReportArrival? = nil
  ) {
    self.ssrc = ssrc
    self.expected = expected
    self.received = received
    self.highestSequence = highestSequence
    self.jitter = jitter
    self.lastSenderReport = lastSenderReport
  }
}

/// A sender report and when it came.
public struct SenderReportArrival: Sendable, Hashable {
  public var report: RTCPPacket.SenderReport
  public var arrival: Instant
}

/// Sender reports of sources that are not yet validated.
///
/// Many senders begin with a report, and the next one comes seconds later.
struct EarlyReports: Sendable {
  /// How many sources' reports are kept; the right one is among them.
  static let maximum = 8

  private var reports: [SenderReportArrival] = []

  /// Keeps `report` in place of an older one of its source; the oldest makes room if necessary.
  mutating func keep(_ report: SenderReportArrival) {
    reports.removeAll { $0.report.ssrc == report.report.ssrc }
    if reports.count >= Self.maximum { reports.removeFirst() }
    reports.append(report)
  }

  /// Hands out the report of the source `ssrc`.
  mutating func take(of ssrc: UInt32) -> SenderReportArrival? {
    guard let index = reports.firstIndex(where: { $0.report.ssrc == ssrc }) else { return nil }
    return reports.remove(at: index)
  }
}
