import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Unrequested answers from the far end, and packets that are not answers.
@Suite struct HostileRetransmissionTests {
  private static var configuration: RTPProcessor.Configuration {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    configuration.feedback = [.nack]
    configuration.retransmissionFormats = [97: RetransmissionFormat(original: 96)]
    return configuration
  }

  /// A retransmission packet with a packet that was numbered `number`.
  private func retransmission(
    of number: UInt16, identity: UInt64, at timestamp: UInt32 = 90_000
  ) -> ByteBuffer {
    retransmission(
      [UInt8(number >> 8), UInt8(number & 0xFF)]
        + (0..<8).map { UInt8(truncatingIfNeeded: identity >> (56 - 8 * $0)) }, at: timestamp)
  }

  /// A retransmission packet with `payload`.
  private func retransmission(_ payload: [UInt8], at timestamp: UInt32 = 90_000) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(UInt8(0x80), UInt8(97), UInt16(7), timestamp, UInt32(0xB))
    bytes.writeBytes(payload)
    return bytes
  }

  @Test(arguments: [0, 1])
  func aPayloadWithoutANumberHoldsNoPacket(length: Int) {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    #expect(
      session.receive(retransmission([UInt8](repeating: 1, count: length))) == .retransmission)
    #expect(session.statistics.repair.malformed == 1)
    #expect(session.statistics.retransmission == 1)
    #expect(session.receive(sender.packet()) == .inOrder)
  }

  @Test func onlyWhatIsMissingIsTaken() {
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    // 1010 is missing, 1011 waits.
    _ = sender.packet()
    session.receive(sender.packet())
    var noise = SeededGenerator(seed: 1)
    for number in stride(from: UInt16(0), to: 65_520, by: 7) where number != 1010 {
      session.receive(retransmission(of: number, identity: noise.next()))
    }
    #expect(session.statistics.repair.unneeded == 9360)
    #expect(session.statistics.recovered == 0)
    #expect(session.deliveries.count == 10)
    session.receive(retransmission(of: 1010, identity: 99))
    #expect(session.deliveries.count == 12)
    #expect(session.statistics.recovered == 1)
    #expect(session.receive(sender.packet()) == .inOrder)
  }

  /// A gateway forwards two cameras to one port, whose numbers meet.
  @Test func whatAnotherSenderRepeatsFillsNoGap() {
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    _ = sender.packet()
    session.receive(sender.packet())
    session.receive(retransmission(of: 1010, identity: 98, at: 0x8000_0000))
    #expect(session.statistics.recovered == 0)
    #expect(session.statistics.repair.unneeded == 1)
    session.receive(retransmission(of: 1010, identity: 99))
    #expect(session.statistics.recovered == 1)
  }

  @Test func aStrangersRepetitionSaysNothingOfHowTheSenderAnswers() {
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    session.receive(retransmission(of: 1005, identity: 98, at: 0x8000_0000))
    for _ in 0..<10 {
      let lost = sender.packet()
      session.receive(sender.packet())
      #expect(!session.takeFeedback().isEmpty)
      session.run(for: .milliseconds(100))
      session.receive(lost)
      session.run(for: .milliseconds(100))
    }
    #expect(session.statistics.repaired == 10)
    #expect(session.statistics.lost == 0)
  }

  /// Of the media it would be a clock, a count of packets and an end.
  @Test func reportsOfASessionOfRetransmissionsAreAboutThatAlone() {
    var configuration = Self.configuration
    configuration.retransmissionSession = [:]
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: configuration)
    var report = ByteBuffer()
    report.writeMultipleIntegers(
      UInt8(0x80), UInt8(200), UInt16(6), UInt32(0xA), UInt64(1) << 63, UInt32(0), UInt32(1),
      UInt32(1))
    report.writeMultipleIntegers(UInt8(0x81), UInt8(203), UInt16(1), UInt32(0xA))
    #expect(session.receive(report, on: .retransmission) == .control)
    #expect(!session.processor.hasSaidGoodbye)
    #expect(session.processor.reception?.lastSenderReport == nil)
    #expect(session.receive(report) == .control)
    #expect(session.processor.hasSaidGoodbye)
    #expect(session.processor.reception?.lastSenderReport != nil)
  }

  @Test func whatIsNoRetransmissionInTheirSessionIsPassedOver() {
    var configuration = Self.configuration
    configuration.retransmissionSession = [98: RetransmissionFormat(original: 96)]
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: configuration)
    let count = session.deliveries.count
    _ = sender.packet()
    session.receive(sender.packet())
    #expect(
      session.receive(retransmission(of: 1010, identity: 9), on: .retransmission)
        == .ignoredPayloadType)
    for length in 0..<12 {
      session.receive(
        ByteBuffer(repeating: 0x80, count: length), on: .retransmission)
    }
    #expect(session.statistics.malformed == 12)
    #expect(session.deliveries.count == count)
    #expect(session.statistics.recovered == 0)
  }

  /// For example, a second codec of the same section, which is ignored when it comes by itself.
  @Test func whatRepeatsAnotherTypeIsNotTaken() {
    var configuration = Self.configuration
    configuration.retransmissionFormats = [97: RetransmissionFormat(original: 98)]
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: configuration)
    _ = sender.packet()
    session.receive(sender.packet())
    session.receive(retransmission(of: 1010, identity: 99))
    #expect(session.statistics.recovered == 0)
    #expect(session.statistics.repair.unneeded == 1)
    #expect(session.deliveries.count == 10)
  }

  /// RFC 4588 §4 leaves out padding, and may leave out extensions.
  @Test(arguments: [true, false])
  func packetsThatMayNotBeAsTheyWereCorrectNoOthers(hasExtension: Bool) throws {
    var configuration = Self.configuration
    configuration.correctionFormats = [CorrectedStream.correctionType: .ulpfec]
    configuration.retransmissionFormats = [99: RetransmissionFormat(original: 96)]
    var stream = CorrectedStream(seed: 1, sequence: 1000)
    _ = stream.sendMedia(4, timestamp: 0)
    let media = stream.sendMedia(12, timestamp: 3000)
    stream.sendCorrection([.init(packets: media, length: media.longest)], timestamp: 3000)
    let packets = try media.dropLast().map { try RTPPacket(parsing: $0) }
    let original = try #require(
      packets.first { $0.extensionProfile == nil && $0.paddingLength == 0 })
    let other = try #require(media.first { $0 != original.bytes })
    var session = VirtualSession(configuration: configuration, isEntryPoint: { _ in true })
    for packet in stream.packets where ![original.bytes, other].contains(packet) {
      session.receive(packet)
    }
    var again = original.retransmission(
      payloadType: 99, ssrc: 0xB, sequenceNumber: SequenceNumber(7))
    if hasExtension {
      let header = 12 + 4 * Int((again.getInteger(at: 0) ?? UInt8(0)) & 0x0F)
      var extended = again.readSlice(length: header) ?? ByteBuffer()
      extended.setInteger((extended.getInteger(at: 0) ?? UInt8(0)) | 0x10, at: 0)
      extended.writeMultipleIntegers(UInt16(0xBEDE), UInt16(1), UInt32(0))
      extended.writeImmutableBuffer(again)
      again = extended
    }
    session.receive(again)
    #expect(session.statistics.recovered == (hasExtension ? 1 : 2))
    #expect(session.statistics.errorCorrection.rebuilt == (hasExtension ? 0 : 1))
  }

  @Test func beforeThereIsASourceNothingIsTaken() {
    var session = VirtualSession(configuration: Self.configuration)
    for _ in 0..<100 { session.receive(retransmission([1, 2, 3, 4])) }
    #expect(session.processor.ssrc == nil)
    #expect(session.statistics.repair.unneeded == 100)
    #expect(session.processor.feedbackDeadline == nil)
  }

  @Test func aRepairThatComesTwiceOrTooLateIsCounted() {
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    _ = sender.packet()
    session.receive(sender.packet())
    #expect(!session.takeFeedback().isEmpty)
    let answer = retransmission(of: 1010, identity: 99)
    session.run(for: .milliseconds(20))
    session.receive(answer)
    session.receive(answer)
    #expect(session.statistics.repair.arrived == 1)
    #expect(session.statistics.repair.unneeded == 1)

    _ = sender.packet()
    session.receive(sender.packet())
    #expect(!session.takeFeedback().isEmpty)
    session.run(for: .milliseconds(1500))
    session.receive(retransmission(of: 1012, identity: 98))
    #expect(session.statistics.lost == 1)
    #expect(session.statistics.repair.late == 1)
    #expect(session.statistics.isBalanced)
  }
}
