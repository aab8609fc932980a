import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite struct StatisticsTests {
  /// Transit times by hand: J += (|D| − J) / 16 (RFC 3550 A.8), kept times 16 as there.
  @Test(
    arguments: [
      // A perfect sender: 3000 ticks each 33⅓ ms.
      ([0, 3000, 6000], [0, 33_333_334, 66_666_667], [0, 0, 0]),
      // The second packet 10 ms late (900 ticks), the third on time again.
      ([0, 3000, 6000], [0, 43_333_334, 66_666_667], [0, 56.25, 109]),
      // The whole frame at once: the timestamps stay the same, the clock advances 1 ms (90 ticks).
      ([7, 7, 7], [0, 1_000_000, 2_000_000], [0, 5.625, 10.9375]),
      // Both clocks wrap.
      ([0xFFFF_FFFF, 2999], [47_721_858_833_334, 47_721_892_166_667], [0, 0]),
      // A timestamp that leaps is another timeline and not jitter.
      ([0, 0x7000_0000, 0x7000_0000], [0, 0, 1_000_000], [0, 0, 5.625]),
    ] as [([UInt32], [Int64], [Double])])
  func jitterIsThatOfTheStandard(
    _ timestamps: [UInt32], _ arrivals: [Int64], _ expected: [Double]
  ) {
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = .zero
    var session = VirtualSession(
      start: Instant(nanoseconds: arrivals[0]), configuration: configuration)
    var jitters: [Double] = []
    for (index, timestamp) in timestamps.enumerated() {
      session.run(to: Instant(nanoseconds: arrivals[index]))
      session.receive(
        SentPacket(sequence: UInt16(index), timestamp: timestamp, identity: UInt64(index)))
      jitters.append(session.statistics.jitter)
    }
    for (jitter, hand) in zip(jitters, expected) { #expect(abs(jitter - hand) <= 0.0625) }
  }

  /// RFC 3550 A.8 keeps the jitter of each source.
  ///
  /// The clocks of two sources differ by some seconds, and so do those of a source before and after
  /// it begins anew.
  @Test(arguments: [(UInt32(0xA), false), (0xB, true)])
  func theJitterOfASourceIsNotThatOfTheOneBefore(ssrc: UInt32, isAnother: Bool) {
    var session = VirtualSession(window: .zero)
    for index in 0..<20 as Range<UInt16> {
      // Each second packet is 10 ms late.
      let late: Int64 = index.isMultiple(of: 2) ? 0 : 10
      session.run(to: Instant(nanoseconds: (Int64(index) * 100 + late) * 1_000_000))
      session.receive(
        SentPacket(
          sequence: index, timestamp: UInt32(index) * 9000, ssrc: 0xA, identity: UInt64(index)))
    }
    let before = session.statistics.jitter
    #expect(before > 400)
    session.run(to: Instant(nanoseconds: 8_000_000_000))
    for index in 0..<5 as Range<UInt16> {
      session.receive(
        SentPacket(
          sequence: 40_000 + index, timestamp: 13 * 90_000 + UInt32(index) * 9000, ssrc: ssrc,
          identity: 100 + UInt64(index)))
      session.run(for: .milliseconds(100))
    }
    #expect(session.processor.ssrc == ssrc)
    #expect(session.statistics.sequenceRestarts == (isAnother ? 0 : 1))
    let jitter = session.statistics.jitter
    #expect(isAnother ? jitter == 0 : jitter > 0 && jitter < before)
  }

  /// Expected less received (RFC 3550 A.3): late packets and duplicates count as received.
  @Test func cumulativeLossIsThatOfTheStandard() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let lost = sender.packets(5)
    for packet in sender.packets(10) { session.receive(packet) }
    session.run(for: .milliseconds(200))
    #expect(session.statistics.cumulativeLost == 5)
    session.receive(lost[0])
    session.receive(lost[1])
    #expect(session.statistics.cumulativeLost == 3)
    let packet = sender.packet()
    for _ in 0..<5 { session.receive(packet) }
    #expect(session.statistics.cumulativeLost == -1)
    #expect(session.statistics.lost == 5)
    #expect(session.statistics.late == 2)
    #expect(session.statistics.duplicate == 4)
  }

  @Test func cumulativeLossStaysInsideTwentyFourBits() {
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = .zero
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, configuration: configuration)
    while session.statistics.lost <= 0x80_0000 {
      sender.next.sequence &+= 2_990
      session.receive(sender.packet())
    }
    #expect(session.statistics.cumulativeLost == 0x7F_FFFF)
  }

  @Test func everyOutcomeIsCountedUnderItsName() {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, configuration: configuration)
    #expect(session.receive(ByteBuffer()) == .malformed(.truncatedHeader(needed: 12, available: 0)))
    var packet = sender.packet()
    packet.payloadType = 97
    #expect(session.receive(packet) == .ignoredPayloadType)
    #expect(
      session.receive(ByteBuffer(bytes: [0x80, 201, 0, 0])) == .malformedControl(.truncatedReport))
    #expect(session.receive(ByteBuffer(bytes: [0x80, 204, 0, 0])) == .control)
    #expect(session.receive(ByteBuffer(bytes: [0x80, 0, 0, 0]), on: .control) == .control)
    session.receive(SentPacket(sequence: 1, ssrc: 0xB, identity: 100))
    session.finish()
    let statistics = session.statistics
    #expect(statistics.malformed == 1)
    #expect(statistics.ignoredPayloadType == 1)
    #expect(statistics.malformedControl == 1)
    #expect(statistics.control == 2)
    #expect(statistics.foreignSource == 1)
    #expect(statistics.received == 16)
    #expect(statistics.receivedBytes == 252)
  }

  /// Everything that can happen, at random, with the invariants checked after each step.
  @Test(arguments: 0..<12 as Range<UInt64>)
  func theCountersAlwaysBalance(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = .milliseconds([0, 5, 200][noise.integer(below: 3)])
    configuration.maximumHeldPackets = [0, 3, 40, 2048][noise.integer(below: 4)]
    configuration.maximumHeldBytes = [500, 1 << 20][noise.integer(below: 2)]
    configuration.payloadType = noise.integer(below: 2) == 0 ? 96 : nil
    var session = VirtualSession(
      configuration: configuration, isEntryPoint: { $0.timestamp % 7 == 0 })
    session.allowsRepetition = true
    var senders = [
      VirtualSender(packetsPerFrame: 5),
      VirtualSender(sequence: 65_530, ssrc: 0xB, firstIdentity: 1 << 32),
    ]
    var recent: [SentPacket] = []
    for _ in 0..<3_000 {
      let index = noise.integer(below: 8) == 0 ? 1 : 0
      switch noise.integer(below: 40) {
      case 0: senders[index].next.sequence = UInt16(noise.integer(below: 65_536))
      case 1: senders[index].next.sequence &+= UInt16(noise.integer(below: 5_000))
      case 2: senders[index].next.timestamp = UInt32(truncatingIfNeeded: noise.next())
      case 3: session.run(for: .milliseconds(Int64(noise.integer(below: 3_000))))
      case 4: session.receive(noise.garbage())
      case 5:
        let reported = UInt32(0xA + noise.integer(below: 2))
        session.receive(
          senderReport(
            ssrc: reported, ntpTime: noise.next(), timestamp: UInt32(noise.integer(below: 1 << 32)))
        )
      case 6: session.receive(goodbye(of: [0xA + UInt32(noise.integer(below: 3))]))
      case 7:
        session.receive(
          ByteBuffer(
            bytes: (0..<noise.integer(below: 20)).map { _ in UInt8(noise.integer(below: 256)) }))
      case 8: if noise.integer(below: 50) == 0 { session.finish() }
      case 9...14: recent.randomElement(using: &noise).map { _ = session.receive($0) }
      case 15: senders[index].next.ssrc = 0xA + UInt32(noise.integer(below: 3))
      case 16...22: recent.append(senders[index].packet())
      default:
        let packet = senders[index].packet()
        recent.append(packet)
        session.receive(packet)
      }
      if recent.count > 60 { recent.removeFirst(noise.integer(below: 20)) }
      session.run(for: .microseconds(Int64(noise.integer(below: 2_000))))
    }
    session.finish()
    #expect(session.statistics.held == 0)
    #expect(session.statistics.delivered > 500)
  }
}
