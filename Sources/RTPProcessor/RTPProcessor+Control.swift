import NIOCore
import RTPWire

/// RTCP from the sender (RFC 3550 §6): its clock, its packet counts, and goodbye.
extension RTPProcessor {
  mutating func receiveControl(
    _ bytes: ByteBuffer, at arrival: Instant
  ) -> PacketOutcome {
    var packets: [RTCPPacket] = []
    do {
      try RTCPPacket.read(compound: bytes, into: &packets)
    } catch {
      // Edimax cameras and others cut the names behind a whole report. Nothing else is believed: a
      // broken goodbye must not end a stream.
      for case .senderReport(let report) in packets { takeOwn(report, at: arrival) }
      statistics.malformedControl += 1
      return .malformedControl(error)
    }
    statistics.control += 1
    for packet in packets {
      switch packet {
      case .senderReport(let report):
        if !takeOwn(report, at: arrival) {
          earlyReports.keep(SenderReportArrival(report: report, arrival: arrival))
          validate([report.ssrc], at: arrival)
        }
      case .goodbye(let sources):
        if let ssrc = source?.ssrc, sources.contains(ssrc) { goodbye = arrival }
        for index in prospects.indices where sources.contains(prospects[index].ssrc) {
          prospects[index].goodbye = arrival
        }
        validate(sources, at: arrival)
      default:
        break
      }
    }
    return .control
  }

  /// Takes a report of the accepted source; whether it is one.
  @discardableResult
  private mutating func takeOwn(_ report: RTCPPacket.SenderReport, at arrival: Instant) -> Bool {
    guard report.ssrc == source?.ssrc else { return false }
    let report = SenderReportArrival(report: report, arrival: arrival)
    note(report)
    account(for: report)
    return true
  }

  mutating func note(_ report: SenderReportArrival) {
    lastReport = report
    let timeline = source?.timeline
    guard let time = timeline?.time(of: report.report.timestamp, at: report.arrival) else { return }
    let outcome = clock.note(report.report, at: time)
    if outcome != .mapped { ignoredSenderReports[outcome, default: 0] += 1 }
  }

  /// Compares the sender's packet count with the sequence numbers that passed.
  private mutating func account(for report: SenderReportArrival) {
    guard let source, let reception else { return }
    let before = UInt64(clamping: senderAccount.leftOut)
    if repair != nil {
      tail.note(report.report, highest: source.highest, at: report.arrival)
    }
    senderAccount.note(
      sent: report.report.packetCount, highest: source.highest, received: reception.received,
      at: report.arrival)
    statistics.leftOut += UInt64(clamping: senderAccount.leftOut)
    statistics.leftOut -= min(before, statistics.leftOut)
  }
}
