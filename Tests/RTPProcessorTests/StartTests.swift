import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite struct StartTests {
  @Test(arguments: [0, 1, 2, 32767, 32768, 65534, 65535] as [UInt16])
  func aPacketBeforeTheFirstOneStillComesFirst(start: UInt16) {
    var sender = VirtualSender(sequence: start)
    let packets = sender.packets(20)
    var session = VirtualSession()
    for index in [3, 1, 0, 2, 5, 4] + Array(6..<20) {
      session.receive(packets[index])
      session.run(for: .milliseconds(5))
    }
    session.run(for: .milliseconds(200))
    #expect(session.deliveredIdentities == Array(1...20))
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.late == 0)
    #expect(session.statistics.reordered == 4)
    #expect(session.statistics.greatestReorderDepth == 3)
  }

  @Test func withoutAnEntryPointTheStartWaitsForTheWindowAndNoLonger() {
    var sender = VirtualSender()
    var session = VirtualSession()
    for packet in sender.packets(300) {
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    #expect(session.deliveredIdentities == Array(1...300))
    #expect(session.deliveries.first?.time == .milliseconds(200))
    for delivery in session.deliveries {
      #expect(delivery.time == max(delivery.packet.arrival, .milliseconds(200)))
    }
  }

  @Test(arguments: 0..<6)
  func anEntryPointEndsTheWait(place: Int) {
    var sender = VirtualSender()
    let entry = UInt16(1000 + place)
    var session = VirtualSession(isEntryPoint: { $0.sequenceNumber.rawValue == entry })
    for packet in sender.packets(10) {
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    #expect(session.deliveredIdentities == Array(1...10))
    // Not before the second packet, which proves the source.
    #expect(session.deliveries.first?.time == .milliseconds(Int64(max(place, 1))))
  }

  @Test func anEntryPointBehindAGapDoesNotEndTheWait() {
    var sender = VirtualSender()
    let packets = sender.packets(4)
    let entry = packets[2].sequence
    var session = VirtualSession(isEntryPoint: { $0.sequenceNumber.rawValue == entry })
    session.receive(packets[0])
    session.receive(packets[2])
    session.receive(packets[3])
    #expect(session.deliveries.isEmpty)
    session.receive(packets[1])
    #expect(session.deliveredIdentities == [1, 2, 3, 4])
  }

  @Test func aPacketFromBeforeTheEntryPointThatComesAfterwardsIsLate() {
    var sender = VirtualSender()
    let packets = sender.packets(5)
    var session = VirtualSession(isEntryPoint: { $0.sequenceNumber.rawValue == 1001 })
    session.receive(packets[1])
    session.receive(packets[2])
    #expect(session.receive(packets[0]) == .late)
    #expect(session.receive(packets[3]) == .inOrder)
    #expect(session.deliveredIdentities == [2, 3, 4])
    #expect(session.statistics.sequenceRestarts == 0)
  }

  @Test func aGapInTheFirstWindowIsWaitedForNoLongerThanTheWindow() {
    var sender = VirtualSender()
    let packets = sender.packets(10)
    var session = VirtualSession()
    // The farthest packet comes first; the others leave a gap before it.
    session.receive(packets[9])
    session.run(for: .milliseconds(1))
    session.receive(packets[1])
    session.run(for: .milliseconds(19))
    session.receive(packets[7])
    session.run(to: .milliseconds(200))
    #expect(session.deliveredIdentities == [2, 8, 10])
    #expect(session.reportedLosses == [5, 1])
  }

  @Test func oneStrayInTheFirstWindowCostsNothing() {
    var sender = VirtualSender()
    var session = VirtualSession()
    for (index, packet) in sender.packets(100).enumerated() {
      session.receive(packet)
      if index == 5 { session.receive(SentPacket(sequence: 50_000, identity: 9_999)) }
      session.run(for: .milliseconds(1))
    }
    session.run(for: .milliseconds(200))
    #expect(session.deliveredIdentities == Array(1...100))
    #expect(session.statistics.unconfirmed == 1)
    #expect(session.statistics.lost == 0)
  }

  @Test func onePacketProvesNoSource() {
    var session = VirtualSession()
    #expect(session.receive(SentPacket(sequence: 5)) == .probation)
    #expect(session.receive(SentPacket(sequence: 5)) == .duplicate)
    session.run(for: .seconds(60))
    #expect(session.deliveries.isEmpty)
    #expect(session.processor.ssrc == nil)
    session.finish()
    #expect(session.statistics.unconfirmed == 1)
  }

  @Test(
    arguments: [
      senderReport(ssrc: 0xA, ntpTime: 0, timestamp: 0), goodbye(of: [0xB, 0xA]),
    ])
  func aSinglePacketAndRTCPOfItsSourceAreAStream(control: ByteBuffer) {
    var session = VirtualSession()
    session.receive(SentPacket(sequence: 5, identity: 1))
    session.receive(goodbye(of: [0xB]))
    session.run(for: .seconds(1))
    #expect(session.deliveries.isEmpty)
    session.receive(control)
    #expect(session.deliveredIdentities == [1])
    #expect(session.processor.ssrc == 0xA)
    #expect(session.statistics.unconfirmed == 0)
  }

  @Test func aStrayUnderTheNameOfAReportGivesWayToTheStream() {
    var sender = VirtualSender()
    var session = VirtualSession()
    session.receive(SentPacket(sequence: 50_000, identity: 9_999))
    session.receive(senderReport(ssrc: 0xA, ntpTime: 0, timestamp: 0))
    for packet in sender.packets(5) { session.receive(packet) }
    session.run(for: .milliseconds(200))
    #expect(session.deliveredIdentities == [1, 2, 3, 4, 5])
    #expect(session.statistics.unconfirmed == 1)
  }

  @Test func rtcpAloneLeadsToNoOtherSource() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    session.receive(SentPacket(sequence: 50_000, ssrc: 0xB, identity: 9_999))
    session.receive(SentPacket(sequence: 50_000, identity: 9_998))
    for ssrc in UInt32(0xA)...0xB {
      session.receive(senderReport(ssrc: ssrc, ntpTime: 0, timestamp: 0))
    }
    session.receive(goodbye(of: [0xA, 0xB]))
    session.run(for: .seconds(60))
    session.finish(isWhole: true)
    #expect(session.deliveredIdentities == Array(1...10))
  }

  @Test(arguments: [1, 2])
  func aSinglePacketIsAllOfAStreamThatCameWhole(sources: UInt32) {
    var session = VirtualSession()
    for ssrc in 0..<sources {
      session.receive(SentPacket(sequence: 5, ssrc: ssrc, identity: UInt64(ssrc)))
    }
    session.finish(isWhole: true)
    #expect(session.deliveredIdentities == (sources == 1 ? [0] : []))
  }

  @Test func aStreamThatEndsInItsFirstWindowComesOutAtTheEnd() {
    var sender = VirtualSender()
    var session = VirtualSession()
    for packet in sender.packets(5) { session.receive(packet) }
    #expect(session.deliveries.isEmpty)
    session.finish()
    #expect(session.deliveredIdentities == [1, 2, 3, 4, 5])
    #expect(session.statistics.held == 0)
  }

  @Test(arguments: [16, 512])
  func aStartReorderedInAnyWayComesOutInOrder(depth: Int) {
    for seed in 0..<5 as Range<UInt64> {
      var noise = SeededGenerator(seed: seed)
      var sender = VirtualSender(sequence: 65_500)
      let packets = sender.packets(depth + 20)
      var session = VirtualSession()
      for packet in packets.shuffled(using: &noise) {
        session.receive(packet)
        session.run(for: .nanoseconds(190_000_000 / Int64(depth + 20)))
      }
      session.run(for: .seconds(1))
      // A source is proved by two packets at most 100 apart; those before are not counted on.
      let dropped = session.statistics.unconfirmed
      #expect(session.deliveries.count + Int(dropped) == packets.count)
      #expect(depth > 100 || dropped == 0)
      #expect(session.deliveredIdentities == session.deliveredIdentities.sorted())
    }
  }
}
