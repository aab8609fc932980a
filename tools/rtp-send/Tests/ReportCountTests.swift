import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// What sender reports say of a stream while its next picture already waits.
struct ReportCountTests {
  /// Pictures come two thirds of a second apart, and none when a report is due.
  private func configuration(_ correction: CorrectionFormat?, _ plan: String) throws
    -> SenderConfiguration
  {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.framesPerSecond) = (256, 144, 2)
    pattern.frameLimit = 30
    var feed = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    feed.payloadLimit = 200
    feed.stream.correction = correction.map {
      RTPStream.Correction($0, payloadType: 97, interval: 3)
    }
    var configuration = SenderConfiguration(
      feed: feed, destination: .send(host: "127.0.0.1", port: 9))
    configuration.tracks[0].plan = try PlanText.parse(plan)
    configuration.pacing = .mediaTime(speed: 0.75)
    return configuration
  }

  private func report(_ compound: ByteBuffer) throws -> RTCPPacket.SenderReport {
    let first = try RTCPPacket.parse(compound: compound).first
    guard case .senderReport(let report) = first else {
      throw SendError.encoder(reason: "no report")
    }
    return report
  }

  /// RFC 3550 §6.4.1: a receiver asks for what was promised.
  @Test(
    arguments: [nil, .ulpfec, .flexfec] as [CorrectionFormat?],
    ["", "5100ms restart", "5100ms jump timestamp 9000000"])
  func theyCountWhatHasBeenSent(correction: CorrectionFormat?, plan: String) throws {
    let begin = Instant(nanoseconds: 0)
    var now = begin
    var run = try StreamRun(try configuration(correction, plan), unixNanoseconds: { 0 }) { begin }
    var sent = SenderAccount(ssrc: 0)
    var lastTimestamp: UInt32 = 0
    var reports = 0
    func check(_ control: ByteBuffer) throws {
      let report = try report(control)
      #expect(report.ssrc == sent.ssrc)
      #expect(report.packetCount == sent.packetCount)
      #expect(report.octetCount == sent.octetCount)
      #expect(report.timestamp &- lastTimestamp < 90_000)
      reports += 1
    }
    while let deadline = run.deadline, deadline.nanoseconds < 12_000_000_000 {
      now = max(now, deadline)
      while let packet = run.next(at: now) {
        guard !packet.isControl else {
          try check(packet.bytes)
          continue
        }
        let media = try RTPPacket(parsing: packet.bytes)
        guard correction != .flexfec || media.payloadType == 96 else { continue }
        if media.ssrc != sent.ssrc { sent = SenderAccount(ssrc: media.ssrc) }
        sent.packetCount += 1
        sent.octetCount += UInt32(packet.bytes.readableBytes - RTPPacket.minimumLength)
        lastTimestamp = media.timestamp
      }
      try run.prepare()
    }
    for packet in run.goodbye(at: now) { try check(packet.bytes) }
    #expect(reports == 4)
  }
}
