import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

private func reception(
  ssrc: UInt32 = 0xA, expected: Int64, received: Int64, highest: UInt32 = 0
) -> SourceReception {
  SourceReception(
    ssrc: ssrc, expected: expected, received: received, highestSequence: highest, jitter: 0)
}

@Suite struct ReceiverReportsTests {
  /// RFC 4585 §3.1: a report and a name go before feedback, unless RFC 5506 is agreed upon.
  @Test(arguments: [false, true])
  func feedbackGoesBehindAReportUnlessItMayBeReduced(isReduced: Bool) throws {
    var reports = ReceiverReports(randomness: KnownNumbers.dealing(), at: Instant(nanoseconds: 0))
    let message = RTCPFeedback.genericNACK(
      media: 0xA, [RTCPFeedback.LostPackets(first: SequenceNumber(7), mask: 5)])
    let before = reports.deadline
    let bytes = reports.feedback(
      message, at: Instant(nanoseconds: 5), about: [reception(expected: 10, received: 8)],
      isReduced: isReduced)
    let packets = try RTCPPacket.parse(compound: bytes)
    #expect(packets.last == .feedback(message, sender: reports.ssrc))
    #expect(packets.count == (isReduced ? 1 : 3))
    #expect(reports.deadline == before)
    // The next regular report covers what is new since the one before it, not since this one.
    let due = reports.next(at: before, about: [reception(expected: 10, received: 8)])
    #expect(due?.getInteger(at: 12, as: UInt8.self) == 51)
  }

  /// RFC 3550 A.3: packets expected and received at one report and at the next.
  struct Loss: Sendable {
    var before: (expected: Int64, received: Int64)
    var now: (expected: Int64, received: Int64)
    var cumulative: Int32
    var fraction: UInt8
  }

  static let losses = [
    Loss(before: (0, 0), now: (0, 0), cumulative: 0, fraction: 0),
    Loss(before: (0, 0), now: (100, 100), cumulative: 0, fraction: 0),
    Loss(before: (0, 0), now: (100, 75), cumulative: 25, fraction: 64),
    // All is lost: 256 / 256 is not a number that the field can hold.
    Loss(before: (100, 100), now: (200, 100), cumulative: 100, fraction: 255),
    Loss(before: (100, 90), now: (200, 190), cumulative: 10, fraction: 0),
    Loss(before: (100, 90), now: (103, 92), cumulative: 11, fraction: 85),
    // More came than were sent: duplicates, and late packets of the interval before.
    Loss(before: (100, 90), now: (200, 205), cumulative: -5, fraction: 0),
    Loss(before: (100, 100), now: (100, 130), cumulative: -30, fraction: 0),
    // The ends of a signed field of 24 bits.
    Loss(before: (0, 0), now: (1 << 40, 0), cumulative: 0x7F_FFFF, fraction: 255),
    Loss(before: (0, 0), now: (1, 1 << 40), cumulative: -0x80_0000, fraction: 0),
    Loss(before: (.max, .min), now: (.min, .max), cumulative: -0x80_0000, fraction: 0),
    Loss(before: (.min, .max), now: (.max, .min), cumulative: 0x7F_FFFF, fraction: 255),
  ]

  @Test(arguments: losses)
  func lossIsCountedAsTheAppendixDoes(row: Loss) {
    let before = reception(expected: row.before.expected, received: row.before.received)
    let now = reception(expected: row.now.expected, received: row.now.received)
    #expect(now.cumulativeLost == row.cumulative)
    #expect(now.fractionLost(since: before) == row.fraction)
  }

  @Test func aCompoundByteForByte() throws {
    let start = Instant(nanoseconds: 0)
    // The receiver's SSRC, two numbers of its name, and the moment of the first report.
    var reports = ReceiverReports(
      randomness: KnownNumbers.dealing([0x0102_0304, 35, 36]), at: start)
    #expect(reports.ssrc == 0x0102_0304)
    let source = SourceReception(
      ssrc: 0xAABB_CCDD, expected: 100, received: 75, highestSequence: 0x0001_0063, jitter: 7)
    let due = reports.deadline
    #expect(reports.next(at: due.advanced(byNanoseconds: -1), about: [source]) == nil)
    let report = reports.next(at: due, about: [source])
    let bytes = try #require(report)
    #expect(
      Array(bytes.readableBytesView) == [
        // Version 2, one block; RR; eight words.
        0x81, 201, 0, 7, 1, 2, 3, 4, 0xAA, 0xBB, 0xCC, 0xDD,
        // A quarter lost, 25 in all; cycle 1, number 99; jitter; no sender report, no delay.
        64, 0, 0, 25, 0, 1, 0, 99, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0,
        // One chunk; SDES; CNAME of three characters; the end, to a full word.
        0x81, 202, 0, 3, 1, 2, 3, 4, 1, 3, UInt8(ascii: "z"), UInt8(ascii: "1"),
        UInt8(ascii: "0"), 0, 0, 0,
      ])
    #expect(reports.deadline > due)
  }

  @Test func withoutASourceTheReportIsEmpty() throws {
    var reports = ReceiverReports(
      randomness: KnownNumbers.dealing([9, 1, 2]), at: Instant(nanoseconds: 0))
    let report = reports.next(at: reports.deadline, about: [])
    let bytes = try #require(report)
    #expect(Array(bytes.readableBytesView.prefix(8)) == [0x80, 201, 0, 1, 0, 0, 0, 9])
    #expect(
      try RTCPPacket.parse(compound: bytes) == [
        .receiverReport(ssrc: 9), .sourceDescription([9: "12"]),
      ])
  }

  @Test func theLastCompoundSaysGoodbye() throws {
    var reports = ReceiverReports(
      randomness: KnownNumbers.dealing([9, 1, 2]), at: Instant(nanoseconds: 0))
    // Who has sent nothing says nothing (§6.3.7).
    let early = reports.goodbye(at: Instant(nanoseconds: 0), about: [])
    #expect(early == nil)
    _ = reports.next(at: reports.deadline, about: [])
    let late = reports.goodbye(at: reports.deadline, about: [])
    let bytes = try #require(late)
    #expect(
      try RTCPPacket.parse(compound: bytes) == [
        .receiverReport(ssrc: 9), .sourceDescription([9: "12"]), .goodbye([9]),
      ])
  }

  @Test func aReceiverWhoseNumberTheSourceHasTakesAnother() throws {
    var reports = ReceiverReports(
      randomness: KnownNumbers.dealing([0xA, 1, 2, 1 << 63, 1 << 63, 0xB]),
      at: Instant(nanoseconds: 0))
    let source = reception(ssrc: 0xA, expected: 1, received: 1)
    _ = reports.next(at: reports.deadline, about: [source])
    #expect(reports.ssrc != 0xA)
  }

  /// RFC 3550 §6.2 and §6.3.1: 5 s, at first half of it, varied by half and divided by e − 1.5.
  @Test func reportsComeEveryFewSeconds() throws {
    for seed in UInt64(0)..<200 {
      var reports = ReceiverReports(
        randomness: SeededGenerator(seed: seed), at: Instant(nanoseconds: 0))
      var now = reports.deadline
      #expect((1_020_000_000...3_080_000_000).contains(now.nanoseconds))
      for _ in 0..<10 {
        _ = reports.next(at: now, about: [])
        let wait = now.nanoseconds(to: reports.deadline)
        #expect((2_050_000_000...6_160_000_000).contains(wait))
        now = reports.deadline
      }
    }
  }

  @Test func theFractionIsOfTheTimeSinceTheLastReport() throws {
    var reports = ReceiverReports(
      randomness: KnownNumbers.dealing([9, 1, 2]), at: Instant(nanoseconds: 0))
    func fraction(_ reception: SourceReception) throws -> UInt8? {
      let report = reports.next(at: reports.deadline, about: [reception])
      let bytes = try #require(report)
      return bytes.getInteger(at: bytes.readerIndex + 12)
    }
    #expect(try fraction(reception(expected: 100, received: 50)) == 128)
    #expect(try fraction(reception(expected: 200, received: 150)) == 0)
    // Another source has no past.
    #expect(try fraction(reception(ssrc: 0xB, expected: 300, received: 225)) == 64)
  }
}

/// What the processor says of its source, packet by packet.
@Suite struct SourceReceptionTests {
  @Test func aLosslessStream() throws {
    var sender = VirtualSender(sequence: 65_530)
    let session = VirtualSession.running(&sender, packets: 10)
    let reception = try #require(session.processor.reception)
    #expect(reception.ssrc == 0xA)
    #expect((reception.expected, reception.received) == (10, 10))
    // Four packets after the wrap: one cycle.
    #expect(reception.highestSequence == 0x1_0003)
    #expect(reception.cumulativeLost == 0)
    #expect(reception.lastSenderReport == nil)
  }

  @Test func whatIsMissingAndWhatComesTwice() throws {
    var sender = VirtualSender(sequence: 100)
    var session = VirtualSession.running(&sender, packets: 10)
    _ = sender.packets(3)
    let packets = sender.packets(7)
    for packet in packets { session.receive(packet) }
    // Missing by the highest number, although they are still waited for.
    #expect(session.processor.reception?.cumulativeLost == 3)
    session.run(for: .seconds(1))
    #expect(session.processor.reception?.cumulativeLost == 3)
    session.receive(packets[6])
    session.receive(packets[5])
    let reception = try #require(session.processor.reception)
    #expect((reception.expected, reception.received) == (20, 19))
    #expect(reception.highestSequence == 119)
  }

  /// A camera that starts again keeps its SSRC, and often its first number.
  @Test(arguments: [UInt16(1000), 30_000])
  func aNewNumberingHasNoPastReports(first: UInt16) throws {
    var sender = VirtualSender(sequence: 1000)
    var session = VirtualSession.running(&sender, packets: 500)
    var reports = ReceiverReports(randomness: SeededGenerator(seed: 1), at: session.now)
    func fraction() throws -> UInt8? {
      let reception = try #require(session.processor.reception)
      let report = reports.next(at: reports.deadline, about: [reception])
      let bytes = try #require(report)
      return bytes.getInteger(at: bytes.readerIndex + 12)
    }
    #expect(try fraction() == 0)
    sender.next.sequence = first
    for packet in sender.packets(3) { session.receive(packet) }
    _ = sender.packets(2)
    for packet in sender.packets(5) { session.receive(packet) }
    session.run(for: .seconds(1))
    #expect(session.statistics.sequenceRestarts == 1)
    // Two of ten.
    #expect(try fraction() == 51)
  }

  @Test func aNewNumberOfTheSourceIsAnotherSource() throws {
    var sender = VirtualSender(sequence: 100)
    var session = VirtualSession.running(&sender, packets: 10)
    sender.next.ssrc = 0xB
    for packet in sender.packets(5) { session.receive(packet) }
    let reception = try #require(session.processor.reception)
    #expect(reception.ssrc == 0xB)
    #expect((reception.expected, reception.received) == (5, 5))
    #expect(reception.highestSequence == 114)
  }

  /// LSR is the middle of the NTP time, DLSR the time since in 65,536ths of a second (§6.4.1).
  @Test func theLastSenderReportIsAnswered() throws {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    session.receive(
      senderReport(ssrc: 0xA, ntpTime: 0x1122_3344_5566_7788, timestamp: sender.next.timestamp))
    let arrival = session.now
    /// LSR and DLSR of the report that goes out `later` than the sender's came in.
    func answer(after later: Duration) throws -> (last: UInt32?, delay: UInt32?) {
      var reports = ReceiverReports(
        randomness: SeededGenerator(seed: 1), at: arrival.advanced(by: .seconds(-60)))
      _ = reports.next(at: arrival, about: [])
      let goodbye = reports.goodbye(
        at: arrival.advanced(by: later), about: [session.processor.reception].compactMap(\.self))
      let bytes = try #require(goodbye)
      return (
        bytes.getInteger(at: bytes.readerIndex + 24), bytes.getInteger(at: bytes.readerIndex + 28)
      )
    }
    #expect(try answer(after: .milliseconds(2500)) == (0x3344_5566, 163_840))
    // A year later the field is at its maximum, and a clock that went back gives no time.
    for (later, delay) in [(Duration.seconds(31_536_000), UInt32.max), (.seconds(-5), 0)] {
      #expect(try answer(after: later).delay == delay)
    }
  }

  @Test func beforeTheFirstPacketThereIsNothingToSay() {
    #expect(RTPProcessor().reception == nil)
  }
}

/// A session that follows another: a connection that was lost, and the next one.
@Suite struct SuccessionTests {
  private func following(
    _ former: VirtualSession, clockRate: UInt32 = 90_000
  ) -> RTPProcessor {
    var former = former.processor
    former.finish()
    while former.next(at: Instant(nanoseconds: .max)) != nil {}
    var configuration = RTPProcessor.Configuration()
    configuration.clockRate = clockRate
    return RTPProcessor(configuration: configuration, after: former)
  }

  /// The same numbers with other content would be duplicates to a session that remembers them.
  @Test func nothingOfTheNumbersIsRemembered() throws {
    var sender = VirtualSender(sequence: 1000, timestamp: 90_000)
    let session = VirtualSession.running(&sender)
    var processor = following(session)
    #expect(processor.ssrc == nil)
    #expect(processor.clock == ClockMapping())
    var again = VirtualSender(sequence: 1000, timestamp: 90_000)
    var delivered: [UInt16] = []
    for packet in again.packets(10) {
      let now = session.now.advanced(by: .milliseconds(500))
      _ = processor.receive(Datagram(bytes: packet.bytes, arrival: now)) { _ in true }
      while let packet = processor.next(at: now) {
        delivered.append(packet.packet.sequenceNumber.rawValue)
      }
    }
    #expect(delivered == Array(1000..<1010))
    #expect(processor.statistics.delivered == 20)
    #expect(processor.statistics.received == 20)
    #expect(processor.statistics.isBalanced)
    #expect(processor.statistics.sourceChanges == 0)
  }

  /// The sender's clock may be another one, and the way too.
  @Test func theJitterOfTheFormerConnectionIsForgotten() {
    var sender = VirtualSender(sequence: 1000, timestamp: 90_000)
    var session = VirtualSession.running(&sender)
    for packet in sender.packets(10) {
      session.receive(packet)
      session.run(for: .milliseconds(50))
    }
    #expect(session.statistics.jitter > 0)
    var processor = following(session)
    for index in 0..<3 as Range<UInt16> {
      let packet = SentPacket(sequence: index, timestamp: 90_000 + UInt32(index) * 9000)
      let now = session.now.advanced(by: .milliseconds(100 * Int64(index)))
      _ = processor.receive(Datagram(bytes: packet.bytes, arrival: now)) { _ in true }
    }
    #expect(processor.statistics.jitter == 0)
  }

  /// Timestamps unrelated to earlier ones continue at the time that the arrivals suggest, also by
  /// another clock.
  @Test(arguments: [90_000, 48_000] as [UInt32])
  func theTimeOfTheMediaGoesOn(clockRate: UInt32) throws {
    var sender = VirtualSender(sequence: 1000, timestamp: 90_000)
    let session = VirtualSession.running(&sender, every: .milliseconds(33))
    let last = try #require(session.deliveries.last)
    var processor = following(session, clockRate: clockRate)
    let now = last.time.advanced(by: .seconds(20))
    var next = VirtualSender(sequence: 7, timestamp: 4_000_000_000)
    for packet in next.packets(2) {
      _ = processor.receive(Datagram(bytes: packet.bytes, arrival: now)) { _ in true }
    }
    let packet = processor.next(at: now)
    let first = try #require(packet)
    #expect(first.isDiscontinuity)
    #expect(first.time.timescale == clockRate)
    #expect(first.time.ticks == (last.packet.time.ticks + 1_800_000) * Int64(clockRate) / 90_000)
  }
}
