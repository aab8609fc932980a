import NIOCore
import RTPWire

/// What a receiver reports on one source (RFC 3550 §6.4.1).
///
/// ```
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        SSRC of the source                     |
/// | fraction lost |       cumulative number of packets lost       |
/// |           extended highest sequence number received           |
/// |                      interarrival jitter                      |
/// |                         last SR (LSR)                         |
/// |                   delay since last SR (DLSR)                  |
/// ```
struct ReceptionReport: Sendable, Hashable {
  var ssrc: UInt32
  /// Since the beginning; below 0 where more came than was sent.
  var lost: Int32
  /// In ticks of the source's clock.
  var jitter: UInt32
  /// The middle of the NTP time in the sender report that came last; 0 before there was one.
  var lastSenderReport: UInt32
  /// How long ago that came, in 65,536ths of a second.
  var delay: UInt32

  /// All reports of a compound (§6.1), up to what is malformed.
  static func reports(in compound: ByteBuffer) -> [ReceptionReport] {
    var rest = compound
    var reports: [ReceptionReport] = []
    while let (first, type, words) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
      var body = rest.readSlice(length: 4 * Int(words))
    {
      // Of sender reports, what they say of their own media comes first.
      guard type == 200 || type == 201,
        body.readSlice(length: type == 200 ? 24 : 4) != nil
      else { continue }
      for _ in 0..<(first & 0x1F) {
        guard let report = ReceptionReport(readFrom: &body) else { break }
        reports.append(report)
      }
    }
    return reports
  }

  private init?(readFrom body: inout ByteBuffer) {
    guard
      let (ssrc, loss, _, jitter, lastSenderReport, delay) = body.readMultipleIntegers(
        as: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32).self)
    else { return nil }
    self.ssrc = ssrc
    lost = Int32(bitPattern: loss << 8) >> 8
    (self.jitter, self.lastSenderReport, self.delay) = (jitter, lastSenderReport, delay)
  }

  /// From a sender report to its receiver and back; `nil` before one has come there.
  func roundTrip(at ntpTime: UInt64) -> Duration? {
    guard lastSenderReport != 0 else { return nil }
    let units = UInt32(truncatingIfNeeded: ntpTime >> 16) &- lastSenderReport &- delay
    // Less than nothing, where the clocks do not go alike.
    guard units < 1 << 31 else { return .zero }
    return .nanoseconds(Int64(units) * 1_000_000_000 / 65_536)
  }
}

/// How a track came through to a client, as that reported last.
public struct ReportedReception: Sendable, Hashable {
  /// As in verdicts.
  public var track: String
  /// Packets; below 0 where more came than was sent.
  public var lost: Int
  public var jitter: Duration
  /// `nil` where the client has had no sender report.
  public var roundTrip: Duration?
}
