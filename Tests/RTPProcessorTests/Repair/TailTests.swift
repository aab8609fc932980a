import NIOCore
import RTPProcessor
import RTPWire
import Testing

/// Losses behind which nothing comes.
@Suite struct TailTests {
  private static var configuration: RTPProcessor.Configuration {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    configuration.feedback = [.nack]
    return configuration
  }

  /// A sender of four packets a frame, numbered from 1000, and a session that has had ten frames.
  private func running(
    setsMarkers: Bool = true, configuration: RTPProcessor.Configuration = Self.configuration
  ) -> (VirtualSender, VirtualSession) {
    var sender = VirtualSender(sequence: 1000, packetsPerFrame: 4)
    sender.setsMarkers = setsMarkers
    let session = VirtualSession.running(&sender, configuration: configuration, packets: 40)
    return (sender, session)
  }

  /// A sender report on `count` packets, with a goodbye behind it if `isLast`.
  private func report(
    _ count: UInt32, timestamp: UInt32, isLast: Bool = false
  ) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      UInt8(0x80), UInt8(200), UInt16(6), UInt32(0xA), UInt64(1) << 63, timestamp, count,
      UInt32(8 * count))
    if isLast { bytes.writeMultipleIntegers(UInt8(0x81), UInt8(203), UInt16(1), UInt32(0xA)) }
    return bytes
  }

  private func request(_ first: UInt16, _ mask: UInt16) -> RTCPFeedback {
    .genericNACK(
      media: 0xA, [RTCPFeedback.LostPackets(first: SequenceNumber(first), mask: mask)])
  }

  /// libwebrtc probes the network with such packets.
  @Test func paddingBehindAUnitIsNotTheBeginningOfAnother() {
    var (sender, session) = running()
    var padding = ByteBuffer()
    padding.writeMultipleIntegers(
      UInt8(0x80), UInt8(96), sender.next.sequence, sender.next.timestamp &- 3000, UInt32(0xA))
    #expect(session.receive(padding) == .inOrder)
    #expect(session.processor.feedbackDeadline == nil)
    sender.next.sequence &+= 1
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(session.processor.feedbackDeadline == session.now.advanced(by: .milliseconds(20)))
  }

  @Test func theLastPacketOfAUnitIsAskedForWhenNothingFollows() {
    var (sender, session) = running()
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(session.processor.feedbackDeadline == session.now.advanced(by: .milliseconds(20)))
    session.run(for: .milliseconds(19))
    #expect(session.takeFeedback().isEmpty)
    session.run(for: .milliseconds(1))
    #expect(session.takeFeedback() == [request(1043, 0xFFFF)])
    #expect(session.receive(sender.packet()) == .inOrder)
    #expect(session.processor.feedbackDeadline == nil)
    let statistics = session.statistics
    #expect(statistics.repair.tailRequests == 1)
    #expect(statistics.repair.requested == 1 && statistics.repair.arrived == 1)
    #expect(statistics.repaired == 1 && statistics.lost == 0)
    // The network did not bring it.
    #expect(session.processor.reception?.expected == 44)
    #expect(session.processor.reception?.received == 43)
  }

  @Test func whatNobodyAnswersIsAskedForAFewTimesAndIsNoLoss() {
    var (sender, session) = running()
    for packet in sender.packets(3) { session.receive(packet) }
    var messages: [RTCPFeedback] = []
    for _ in 0..<5000 {
      session.run(for: .milliseconds(1))
      messages += session.takeFeedback()
    }
    #expect(messages == Array(repeating: request(1043, 0xFFFF), count: 4))
    #expect(session.processor.feedbackDeadline == nil)
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.repair.requested == 0)

    // What comes then shows what was missing, and what there was not.
    _ = sender.packet()
    #expect(session.receive(sender.packet()) == .parked)
    #expect(session.statistics.repair.requested == 1)
    session.run(for: .seconds(2))
    #expect(session.statistics.lost == 1)
    #expect(session.statistics.repaired == 0)
    #expect(session.processor.reception?.received == 44)
  }

  @Test func whatWasAskedForTooEarlyIsNotAskedForAgainAtOnce() {
    var (sender, session) = running()
    for packet in sender.packets(3) { session.receive(packet) }
    session.run(for: .milliseconds(20))
    #expect(session.takeFeedback().count == 1)
    let lost = sender.packet()
    session.receive(sender.packet())
    #expect(session.takeFeedback().isEmpty)
    session.run(for: .milliseconds(10))
    #expect(session.receive(lost) == .inOrder)
    #expect(session.statistics.repair.requested == 1)
    #expect(session.statistics.repair.arrived == 1)
    #expect(session.statistics.repaired == 1)
  }

  @Test func aSenderWithoutMarkersIsNotAsked() {
    var (sender, session) = running(setsMarkers: false)
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(session.processor.feedbackDeadline == nil)
  }

  @Test func aSenderThatPausesInsideItsUnitsIsGivenTime() {
    var (sender, session) = running()
    for packet in sender.packets(80) {
      session.receive(packet)
      session.run(for: .milliseconds(18))
      #expect(session.takeFeedback().isEmpty)
    }
    session.receive(sender.packet())
    let due = session.now.advanced(by: .microseconds(22_500))
    #expect(session.processor.feedbackDeadline == due)
  }

  @Test func whatAReportCountsIsAskedFor() {
    var (sender, session) = running(setsMarkers: false)
    session.receive(report(40, timestamp: sender.next.timestamp))
    for packet in sender.packets(5) { session.receive(packet) }
    let lost = sender.packets(2)
    #expect(session.processor.feedbackDeadline == nil)
    session.receive(report(47, timestamp: sender.next.timestamp))
    session.run(for: .milliseconds(20))
    #expect(session.takeFeedback() == [request(1045, 1)])
    for packet in lost { #expect(session.receive(packet) == .inOrder) }
    #expect(session.processor.feedbackDeadline == nil)
    #expect(session.statistics.repair.arrived == 2)
    // The next report is believed too.
    for packet in sender.packets(3) { session.receive(packet) }
    _ = sender.packet()
    session.receive(report(51, timestamp: sender.next.timestamp))
    session.run(for: .milliseconds(20))
    #expect(session.takeFeedback() == [request(1050, 0)])
  }

  @Test func countsOfAnotherKindAreBelievedThreeTimes() {
    var (sender, session) = running(setsMarkers: false)
    var count: UInt32 = 40
    for _ in 0..<20 {
      session.receive(report(count, timestamp: sender.next.timestamp - 1))
      session.run(for: .milliseconds(30))
      _ = session.takeFeedback()
      for packet in sender.packets(8) { session.receive(packet) }
      // As of a sender that counts what it sends again.
      count += 10
    }
    #expect(session.statistics.repair.tailRequests <= 3)
    #expect(session.statistics.repaired == 0)
    #expect(session.statistics.delivered == 200)
    #expect(session.processor.reception?.received == 200)
  }

  @Test func whatIsMissingBehindAGoodbyeIsAskedFor() {
    var (sender, session) = running()
    session.receive(report(40, timestamp: sender.next.timestamp))
    for packet in sender.packets(4) { session.receive(packet) }
    let lost = sender.packets(4)
    session.receive(report(48, timestamp: sender.next.timestamp, isLast: true))
    session.wantKeyPicture()
    #expect(session.takeFeedback().isEmpty)
    session.run(for: .milliseconds(20))
    #expect(session.takeFeedback() == [request(1044, 0b111)])
    for packet in lost { session.receive(packet) }
    #expect(session.statistics.delivered == 48)
    // What is sent again is no sign of life.
    #expect(session.processor.hasSaidGoodbye)
  }

  @Test func nothingBeyondWhatWasAskedForIsTakenFromRetransmissions() throws {
    var configuration = Self.configuration
    configuration.retransmissionFormats = [97: RetransmissionFormat(original: 96)]
    var (sender, session) = running(configuration: configuration)
    for packet in sender.packets(3) { session.receive(packet) }
    let behind = sender.packets(30)
    func again(_ packet: SentPacket) throws -> ByteBuffer {
      try RTPPacket(parsing: packet.bytes).retransmission(
        payloadType: 97, ssrc: 0xB, sequenceNumber: SequenceNumber(7))
    }
    for packet in behind { session.receive(try again(packet)) }
    #expect(session.statistics.recovered == 0)
    session.run(for: .milliseconds(20))
    #expect(session.takeFeedback().count == 1)
    for packet in behind.reversed() { session.receive(try again(packet)) }
    #expect(session.statistics.recovered == 17)
    #expect(session.statistics.delivered == 60)
  }

  @Test(arguments: [RepairingNetwork.Answers.plainly, .inOwnStream, .inOwnSession], 1...4)
  func atFivePercentLossTheLastPacketsComeToo(answers: RepairingNetwork.Answers, tail: Int) {
    for seed in 0..<20 as Range<UInt64> {
      var network = RepairingNetwork(seed: seed, answers: answers)
      network.run(units: 40, of: 5, losing: tail)
      #expect(network.session.deliveredIdentities == Array(1...200), "seed \(seed)")
      let statistics = network.session.statistics
      #expect(statistics.lost == 0 && statistics.repair.tailRequests < 20, "seed \(seed)")
    }
  }
}
