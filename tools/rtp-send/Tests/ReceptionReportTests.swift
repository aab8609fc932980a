import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// What receivers report, and what is told of it.
@Suite struct ReceptionReportTests {
  /// A receiver report with one block about the source 5.
  private static func compound(
    lost: Int32 = 0, jitter: UInt32 = 0, last: UInt32 = 0, delay: UInt32 = 0
  ) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(UInt8(0x81), UInt8(201), UInt16(7), UInt32(9), UInt32(5))
    bytes.writeMultipleIntegers(
      0x40 << 24 | UInt32(bitPattern: lost) & 0xFF_FFFF, UInt32(70_000), jitter, last, delay)
    return bytes
  }

  @Test(arguments: [0, 12, -3, 0x7F_FFFF, -0x80_0000] as [Int32])
  func blocksAreRead(lost: Int32) throws {
    let compound = Self.compound(lost: lost, jitter: 90, last: 7, delay: 8)
    let reports = ReceptionReport.reports(in: compound)
    let report = try #require(reports.first)
    #expect(reports.count == 1)
    #expect(report.ssrc == 5 && report.lost == lost && report.jitter == 90)
    #expect(report.lastSenderReport == 7 && report.delay == 8)
    // Behind a sender report's own figures, and behind other packets.
    var both = ByteBuffer(bytes: [0x80, 203, 0, 0, 0x81, 200, 0, 12])
    both.writeRepeatingByte(1, count: 24)
    both.writeBytes(compound.readableBytesView.dropFirst(8))
    #expect(ReceptionReport.reports(in: both) == reports)
  }

  @Test func whatIsMalformedHasNone() {
    let whole = Array(Self.compound().readableBytesView)
    for length in 0..<whole.count {
      #expect(ReceptionReport.reports(in: ByteBuffer(bytes: whole.prefix(length))).isEmpty)
    }
    // A count that is too low or too high.
    for (first, count) in [(UInt8(0x80), 0), (0x9F, 1)] {
      let bytes = ByteBuffer(bytes: [first] + whole.dropFirst())
      #expect(ReceptionReport.reports(in: bytes).count == count)
    }
  }

  /// The report came 40 ms after that of the sender, and its answer 100 ms after that.
  @Test func aRoundTripIsWhatTheReceiverDidNotKeep() throws {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 5)
    let configuration = SenderConfiguration(
      feed: PacketFeed.Configuration(
        recipe: .pattern(pattern),
        stream: RTPStream.Configuration(ssrc: 5, initialSequence: 1, initialTimestamp: 0)),
      destination: .listen(host: "", port: 0))
    var run = try StreamRun(configuration, unixNanoseconds: { 1_500_000_000_000_000_000 }) {
      Instant(nanoseconds: 0)
    }
    let begin = Instant(nanoseconds: 0)
    var control: ByteBuffer?
    while let packet = run.next(at: begin) {
      if packet.isControl { control = packet.bytes }
    }
    let report = try RTCPPacket.parse(compound: try #require(control)).first
    guard case .senderReport(let sent) = report else { return #expect(Bool(false), "no report") }
    let last = UInt32(truncatingIfNeeded: sent.ntpTime >> 16)
    let now = begin.advanced(byNanoseconds: 100_000_000)
    let kept = UInt32(65_536 * 40 / 1000)
    run.answer(Self.compound(lost: 3, jitter: 900, last: last, delay: kept), at: now)
    let reception = try #require(run.takeReceptions(at: now)[0])
    #expect(reception.track == "video" && reception.lost == 3)
    #expect(reception.jitter == .milliseconds(10))
    let roundTrip = try #require(reception.roundTrip)
    #expect(abs(roundTrip.wholeNanoseconds - 60_000_000) < 100_000, "\(roundTrip)")
    #expect(run.takeReceptions(at: now).isEmpty)
    run.answer(Self.compound(), at: now)
    #expect(try #require(run.takeReceptions(at: now)[0]).roundTrip == nil)
  }

  @Test func whatAClientReportedIsToldAtItsEnd() async throws {
    let tests = SenderTests()
    var configuration = tests.configuration(
      tests.pattern(frames: nil), to: .listen(host: "127.0.0.1", port: 0))
    configuration.servesOnce = true
    let events = Record<SenderEvent>()
    let sender = try await Sender.start(configuration) { events.append($0) }
    let client = try await Client()
    client.say("Hello", to: sender.localAddress)
    _ = try await client.take(1)
    client.say(Self.compound(lost: 12, jitter: 90), to: sender.localAddress)
    let seen = try await events.first(3)
    let reception = ReportedReception(
      track: "video", lost: 12, jitter: .milliseconds(1), roundTrip: nil)
    #expect(
      seen == [
        .clientArrived(client.address), .clientReported(client.address, [reception]),
        .clientLeft(client.address),
      ])
    _ = try await withDeadline { try await sender.finished() }
    await client.close()
  }
}
