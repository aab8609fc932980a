import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite struct SourceTests {
  @Test(arguments: [10, 30, 60])
  func aSenderThatComesBackUnderAnotherNameLosesNothing(framesPerSecond: Int64) {
    let frame = Duration.nanoseconds(1_000_000_000 / framesPerSecond)
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, every: frame, packets: 100)
    session.run(for: .milliseconds(300))
    var successor = VirtualSender(sequence: 7, timestamp: 77, ssrc: 0xB, firstIdentity: 1_000)
    let packets = successor.packets(100)
    for packet in packets {
      session.receive(packet)
      session.run(for: frame)
    }
    #expect(session.deliveredIdentities == Array(1...100) + packets.map(\.identity))
    #expect(session.statistics.sourceChanges == 1)
    #expect(session.processor.ssrc == 0xB)
    #expect(session.discontinuities == 2)
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.foreignSource == 0)
    let times = session.deliveries.map(\.packet.time.ticks)
    #expect(times == times.sorted())
  }

  @Test(arguments: [1, 5, 10, 15, 24, 30, 60, 120])
  func twoSendersFrameByFrameStayOnTheFirst(framesPerSecond: Int64) {
    for offset in [Int64(1), 50, 99] {
      let frame = 1_000_000_000 / framesPerSecond
      var first = VirtualSender(packetsPerFrame: 4)
      var second = VirtualSender(
        sequence: 30_000, ssrc: 0xB, packetsPerFrame: 4, firstIdentity: 1_000_000)
      var session = VirtualSession()
      for index in 0..<(6 * framesPerSecond) {
        session.run(to: Instant(nanoseconds: index * frame))
        for packet in first.packets(4) { session.receive(packet) }
        session.run(to: Instant(nanoseconds: index * frame + frame * offset / 100))
        for packet in second.packets(4) { session.receive(packet) }
      }
      session.finish()
      #expect(session.statistics.sourceChanges == 0)
      #expect(session.deliveredIdentities == Array(1..<first.next.identity))
      #expect(session.statistics.foreignSource == second.next.identity - 1_000_000)
      #expect(session.discontinuities == 1)
    }
  }

  /// The network holds the first sender's packets back for a while, the second's not.
  @Test func aPauseOfTheNetworkIsNotTheEndOfASource() {
    var first = VirtualSender()
    var second = VirtualSender(sequence: 30_000, ssrc: 0xB, firstIdentity: 1_000_000)
    var session = VirtualSession.running(&first, every: .milliseconds(16), packets: 200)
    for _ in 0..<25 {
      session.receive(second.packet())
      session.run(for: .milliseconds(16))
    }
    for packet in first.packets(10) { #expect(session.receive(packet) == .inOrder) }
    #expect(session.statistics.sourceChanges == 0)
  }

  @Test func whenTheFirstSenderEndsTheSecondTakesOver() {
    var first = VirtualSender()
    var second = VirtualSender(sequence: 30_000, ssrc: 0xB, firstIdentity: 1_000_000)
    var session = VirtualSession()
    for _ in 0..<100 {
      session.receive(first.packet())
      session.receive(second.packet())
      session.run(for: .milliseconds(33))
    }
    for _ in 0..<100 {
      session.receive(second.packet())
      session.run(for: .milliseconds(33))
    }
    #expect(session.statistics.sourceChanges == 1)
    #expect(session.processor.ssrc == 0xB)
    let taken = session.deliveredIdentities.filter { $0 >= 1_000_000 }
    // Whole and in order from the last second of its silence on.
    #expect(taken.last == 1_000_199)
    #expect(taken.count >= 84)
  }

  @Test func whoeverIsFirstStaysFirstAlthoughTheTimerIsLate() {
    var first = VirtualSender()
    var second = VirtualSender(sequence: 30_000, ssrc: 0xB, firstIdentity: 1_000_000)
    var processor = RTPProcessor()
    for packet in first.packets(3) + second.packets(3) {
      _ = processor.receive(Datagram(bytes: packet.bytes, arrival: .milliseconds(0)))
    }
    #expect(processor.next(at: .milliseconds(900))?.packet.ssrc == 0xA)
  }

  @Suite struct ContinuedNumbering {
    /// Uniview cameras take another SSRC for each group of pictures and count on.
    @Test(arguments: [1, 2, 5, 9])
    func nothingIsLostWhenTheNameChangesWithEachGroup(depth: Int) {
      for seed in 0..<20 as Range<UInt64> {
        var noise = SeededGenerator(seed: seed)
        var sender = VirtualSender(sequence: 65_400, packetsPerFrame: 3)
        var packets: [SentPacket] = []
        for group in 0..<8 as Range<UInt32> {
          sender.next.ssrc = 0xA + group
          packets += sender.packets(36)
        }
        let arrivals = packets.enumerated().map { index, packet in
          (place: index < 4 ? index : index + noise.integer(below: depth), packet: packet)
        }
        var session = VirtualSession(isEntryPoint: { _ in true })
        for (place, packet) in arrivals.sorted(by: { $0.place < $1.place }) {
          session.run(to: .milliseconds(5 * Int64(place)))
          session.receive(packet)
        }
        session.run(for: .seconds(1))
        #expect(session.deliveredIdentities == packets.map(\.identity))
        #expect(session.discontinuities == 1)
        #expect(session.statistics.lost == 0)
        #expect(session.statistics.sourceChanges == 7)
        let times = session.deliveries.map(\.packet.time.ticks)
        #expect(times == times.sorted())
      }
    }

    @Test func packetsLostAtTheChangeAreReportedAsLost() {
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender)
      _ = sender.packets(3)
      sender.next.ssrc = 0xB
      for packet in sender.packets(5) { session.receive(packet) }
      session.run(for: .milliseconds(200))
      #expect(session.deliveredIdentities == Array(1...10) + Array(14...18))
      #expect(session.reportedLosses == [3])
      #expect(session.statistics.lost == 3)
      #expect(session.discontinuities == 1)
    }

    @Test func theWallClockIsKept() {
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender)
      let report = senderReport(ssrc: 0xA, ntpTime: 5 << 32, timestamp: sender.next.timestamp)
      session.receive(report)
      let time = MediaTime(ticks: 180_000, timescale: 90_000)
      let before = session.processor.clock.captureTime(of: time)
      #expect(before != nil)
      sender.next.ssrc = 0xB
      for packet in sender.packets(5) { session.receive(packet) }
      #expect(session.processor.ssrc == 0xB)
      #expect(session.processor.clock.captureTime(of: time) == before)
    }
  }

  @Suite struct Garbage {
    @Test(arguments: [1, 5, 30, 60])
    func doesNotKeepASenderOut(between: Int) {
      var noise = SeededGenerator(seed: UInt64(between))
      var sender = VirtualSender()
      var session = VirtualSession()
      for packet in sender.packets(50) {
        for _ in 0..<between { session.receive(noise.garbage()) }
        session.receive(packet)
        session.run(for: .milliseconds(10))
      }
      session.run(for: .milliseconds(200))
      #expect(session.processor.ssrc == 0xA)
      #expect(session.deliveredIdentities == Array(1...50))
      #expect(session.statistics.sourceChanges == 0)
    }

    @Test func doesNotHinderARestart() {
      var noise = SeededGenerator(seed: 1)
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender)
      sender.next.sequence &+= 20_000
      for packet in sender.packets(20) {
        for _ in 0..<200 { session.receive(noise.garbage()) }
        session.receive(packet)
      }
      #expect(session.deliveredIdentities == Array(1...30))
    }

    @Test func doesNotGrow() {
      var noise = SeededGenerator(seed: 2)
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender)
      var most: UInt64 = 0
      for round in 0..<100_000 {
        session.receive(noise.garbage())
        most = max(most, session.statistics.held)
        if round % 100 == 0 {
          session.receive(sender.packet())
          session.run(for: .milliseconds(1))
        }
      }
      #expect(most <= 64)
      #expect(session.deliveredIdentities == Array(1..<sender.next.identity))
    }

    @Test func manySendersTogetherHoldNoMoreThanOneMay() {
      var configuration = RTPProcessor.Configuration()
      configuration.maximumHeldPackets = 64
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender, configuration: configuration)
      var others = (0..<20 as Range<UInt32>).map {
        VirtualSender(ssrc: 0x100 + $0, firstIdentity: UInt64($0 + 1) << 32)
      }
      for _ in 0..<100 {
        for index in others.indices { session.receive(others[index].packet()) }
        #expect(session.statistics.held <= 64)
        #expect(session.receive(sender.packet()) == .inOrder)
        session.run(for: .milliseconds(1))
      }
    }
  }

  /// A second numbering under one SSRC, as of retransmissions that nobody announced.
  @Test func numbersThatComeOneByOneBetweenTheOthersAreNoRestart() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    var other = VirtualSender(sequence: 40_000, timestamp: 5_000_000, firstIdentity: 10_000)
    for packet in sender.packets(300) {
      session.receive(other.packet())
      #expect(session.receive(packet) == .inOrder)
      session.run(for: .milliseconds(1))
    }
    session.finish()
    #expect(session.deliveredIdentities == Array(1...310))
    #expect(session.statistics.unconfirmed == 300)
    #expect(session.statistics.sequenceRestarts == 0)
  }

  /// Geovision cameras send packets of type 50 that repeat the number before them.
  @Test(arguments: [96, nil] as [UInt8?])
  func packetsOfAnotherTypeThatRepeatANumberDisturbNothing(expected: UInt8?) {
    for advance in [UInt32(0), 1, 3000] {
      var configuration = RTPProcessor.Configuration()
      configuration.payloadType = expected
      var sender = VirtualSender(packetsPerFrame: 3)
      var session = VirtualSession.running(&sender, configuration: configuration)
      for index in 0..<300 as Range<UInt64> {
        var packet = sender.packet()
        #expect(session.receive(packet) == .inOrder)
        packet.payloadType = 50
        packet.identity = 1_000_000 + index
        packet.timestamp &+= advance
        session.receive(packet)
        session.run(for: .milliseconds(1))
      }
      #expect(session.deliveredIdentities == Array(1...310))
      #expect(session.statistics.lost == 0)
      #expect(session.discontinuities == 1)
      if expected != nil { #expect(session.statistics.ignoredPayloadTypes == [50: 300]) }
    }
  }
}

/// Packets of other types in the source and the numbering of the media.
@Suite struct NumberedTypesTests {
  private static var configuration: RTPProcessor.Configuration {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = CorrectedStream.mediaType
    return configuration
  }

  /// After every five packets, or every 48.
  @Test(arguments: [5, 48])
  func correctionPacketsThatNobodyAnnouncedAreNoLosses(size: Int) {
    let stream = CorrectionTests.groups(20, of: size, seed: 1)
    var session = VirtualSession(configuration: Self.configuration, isEntryPoint: { _ in true })
    session.leavesNumbersOut = true
    for (index, packet) in stream.packets.enumerated() {
      session.receive(packet)
      // Sent twice by the network, once in a while.
      if index % 6 == 5, index % 10 == 5 { session.receive(packet) }
      session.run(for: .milliseconds(1))
    }
    session.run(for: .seconds(1))
    session.finish()
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.ignoredPayloadTypes[CorrectedStream.correctionType] ?? 0 >= 20)
  }

  @Test func whatIsLostIsLostAllTheSame() {
    let stream = CorrectionTests.groups(100, of: 5, seed: 2)
    var session = VirtualSession(configuration: Self.configuration, isEntryPoint: { _ in true })
    session.leavesNumbersOut = true
    var noise = SeededGenerator(seed: 3)
    var lost = 0
    for (index, packet) in stream.packets.enumerated() {
      if index > 20, index < 590, noise.integer(below: 20) == 0 {
        lost += 1
      } else {
        session.receive(packet)
      }
      session.run(for: .milliseconds(1))
    }
    session.run(for: .seconds(1))
    session.finish()
    #expect(session.statistics.lost == UInt64(lost))
  }

  /// Unannounced correction packets, each overtaken by the next picture.
  @Test func overtakenPlacesAreNoLosses() {
    var sender = VirtualSender(packetsPerFrame: 3)
    var session = VirtualSession.running(&sender, configuration: Self.configuration, packets: 9)
    session.leavesNumbersOut = true
    var delayed: SentPacket?
    for index in 0..<40 {
      var packets = sender.packets(3)
      packets[2].payloadType = 98
      for packet in [packets[0], delayed, packets[1], index > 10 ? nil : packets[2]] {
        if let packet { session.receive(packet) }
        session.run(for: .milliseconds(1))
      }
      delayed = index > 10 ? packets[2] : nil
    }
    session.run(for: .seconds(1))
    session.finish()
    #expect(session.statistics.lost == 0)
  }

  /// A sender that changes the payload type in between: what follows may refer to what was ignored.
  @Test func picturesOfAnotherTypeAreLosses() {
    var sender = VirtualSender(packetsPerFrame: 3)
    var session = VirtualSession.running(&sender, configuration: Self.configuration, packets: 9)
    for index in 0..<90 {
      var packet = sender.packet()
      if index / 3 % 5 == 4 { packet.payloadType = 98 }
      session.receive(packet)
      session.run(for: .milliseconds(10))
    }
    session.run(for: .seconds(1))
    session.finish()
    #expect(session.statistics.lost >= 15)
    #expect(session.statistics.ignoredPayloadType <= 18)
  }

  /// Unannounced retransmissions in the source of the media.
  @Test(arguments: [20, 1000, 40_000, 65_000])
  func numbersOfTheirOwnCarryNothingAway(distance: Int) {
    var sender = VirtualSender(packetsPerFrame: 3)
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    for index in 0..<300 as Range<UInt64> {
      let packet = sender.packet()
      #expect(session.receive(packet) == .inOrder)
      if index % 10 == 0 {
        var other = packet
        other.payloadType = 97
        other.identity = 1_000_000 + index
        other.sequence = packet.sequence &+ UInt16(distance)
        session.receive(other)
      }
      session.run(for: .milliseconds(1))
    }
    #expect(session.deliveredIdentities == Array(1...310))
    #expect(session.statistics.lost == 0)
  }

  /// Geovision cameras: what fills the place of a picture's packet is not its loss made good.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func numbersThatAreRepeatedFillNoPlaces(seed: UInt64) {
    var sender = VirtualSender(packetsPerFrame: 3)
    var session = VirtualSession.running(&sender, configuration: Self.configuration)
    var noise = SeededGenerator(seed: seed)
    var lost: UInt64 = 0
    for index in 0..<400 as Range<UInt64> {
      var packet = sender.packet()
      if index > 0, index < 399, noise.integer(below: 10) == 0 {
        lost += 1
      } else {
        session.receive(packet)
      }
      packet.payloadType = 50
      packet.identity = 1_000_000 + index
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    session.run(for: .seconds(1))
    session.finish()
    #expect(session.statistics.lost == lost)
    #expect(session.statistics.ignoredPayloadTypes == [50: 400])
  }
}

extension SeededGenerator {
  /// A well-formed packet that has nothing to do with any other.
  mutating func garbage() -> SentPacket {
    SentPacket(
      sequence: UInt16(truncatingIfNeeded: next()), timestamp: UInt32(truncatingIfNeeded: next()),
      ssrc: UInt32(truncatingIfNeeded: next()) | 0x8000_0000,
      payloadType: UInt8(integer(below: 60)), identity: next())
  }
}
