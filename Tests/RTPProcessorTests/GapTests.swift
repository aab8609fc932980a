import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite struct GapTests {
  @Test(arguments: [1, 2, 34, 1000, 2999])
  func aGapIsGivenUpWhenTheWindowIsOver(missing: Int) {
    for window in [Duration.milliseconds(1), .milliseconds(200), .seconds(5)] {
      var configuration = RTPProcessor.Configuration()
      configuration.reorderWindow = window
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender, configuration: configuration)
      _ = sender.packets(missing)
      let parked = session.now
      #expect(session.receive(sender.packet()) == .parked)
      #expect(session.processor.deadline == parked.advanced(by: window))
      session.run(to: parked.advanced(by: window).advanced(byNanoseconds: -1))
      #expect(session.deliveries.count == 10)
      session.run(for: .nanoseconds(1))
      #expect(session.deliveries.count == 11)
      #expect(session.deliveries.last?.packet.lostBefore == missing)
      #expect(session.statistics.lost == UInt64(missing))
      #expect(session.statistics.lossEvents == 1)
      #expect(session.processor.deadline == nil)
      #expect(session.receive(sender.packet()) == .inOrder)
    }
  }

  @Test func noPacketWaitsLongerThanTheWindow() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let packets = sender.packets(10)
    session.receive(packets[9])
    session.run(for: .milliseconds(150))
    session.receive(packets[4])
    session.run(for: .milliseconds(50))
    // The first has waited 200 ms, so nothing before it can be waited for.
    #expect(session.sequences.suffix(2) == [packets[4].sequence, packets[9].sequence])
    #expect(session.reportedLosses == [4, 4])
    #expect(session.statistics.lossEvents == 2)
  }

  @Test func withoutAWindowNothingWaits() {
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = .zero
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, configuration: configuration)
    let packets = sender.packets(5)
    for index in [0, 2, 1, 4, 3] { session.receive(packets[index]) }
    #expect(session.deliveredIdentities == Array(1...11) + [13, 15])
    #expect(session.reportedLosses == [1, 1])
    #expect(session.statistics.late == 2)
    for delivery in session.deliveries.dropFirst() {
      #expect(delivery.time == delivery.packet.arrival)
    }
  }

  @Test func aPacketAfterItsPlaceWasGivenUpIsLate() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let packets = sender.packets(3)
    session.receive(packets[1])
    session.run(for: .milliseconds(200))
    #expect(session.receive(packets[0]) == .late)
    #expect(session.receive(packets[0]) == .late)
    #expect(session.receive(packets[1]) == .duplicate)
    #expect(session.receive(packets[2]) == .inOrder)
    #expect(session.statistics.lost == 1)
    #expect(session.statistics.cumulativeLost == -2)
  }

  /// The B pictures behind it are shown before it.
  @Test func aPictureThatBPicturesReferToMayBeLate() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let start = sender.next
    let packets = ([4, 2, 1, 3, 8, 6, 5, 7] as [UInt32]).enumerated().map { index, frame in
      SentPacket(
        sequence: start.sequence &+ UInt16(index),
        timestamp: start.timestamp &+ frame * 18_000, identity: 1000 + UInt64(index))
    }
    for packet in packets[..<4] + packets[5...] {
      session.receive(packet)
      session.run(for: .milliseconds(200))
    }
    #expect(session.statistics.lost == 1)
    #expect(session.receive(packets[4]) == .late)
    #expect(session.statistics.unconfirmed == 0)
  }

  /// Two packets are missing; each comes before, at or after the tick in which the wait ends, and
  /// the timer fires before or after the packet is handed in.
  @Test(arguments: [-1, 0, 1], [-1, 0, 1])
  func aPacketAndTheEndOfItsWaitMayCoincide(first: Int64, second: Int64) {
    for timerComesFirst in [true, false] {
      var sender = VirtualSender()
      let session = VirtualSession.running(&sender)
      var processor = session.processor
      let packets = sender.packets(4)
      let parked = session.now
      let due = parked.advanced(by: .milliseconds(200))
      _ = processor.receive(Datagram(bytes: packets[2].bytes, arrival: parked))
      var delivered: [UInt16] = []
      let arrivals = [(first, packets[0]), (second, packets[1])].sorted { $0.0 < $1.0 }
      for (offset, packet) in arrivals {
        let now = due.advanced(byNanoseconds: offset)
        if timerComesFirst {
          while let next = processor.next(at: now) {
            delivered.append(next.packet.sequenceNumber.rawValue)
          }
        }
        _ = processor.receive(Datagram(bytes: packet.bytes, arrival: now))
        while let next = processor.next(at: now) {
          delivered.append(next.packet.sequenceNumber.rawValue)
        }
        #expect(processor.statistics.isBalanced)
        #expect(processor.deadline.map { $0 > now } ?? true)
      }
      let end = due.advanced(byNanoseconds: 1)
      _ = processor.receive(Datagram(bytes: packets[3].bytes, arrival: end))
      while let next = processor.next(at: end) {
        delivered.append(next.packet.sequenceNumber.rawValue)
      }
      #expect(delivered == delivered.sorted())
      #expect(Set(delivered).count == delivered.count)
      #expect(delivered.suffix(2) == [packets[2].sequence, packets[3].sequence])
      #expect(processor.statistics.lost + UInt64(delivered.count) == 4)
    }
  }

  @Test(arguments: [0, 1, 2, 16, 500])
  func theNumberOfPacketsThatWaitIsBounded(limit: Int) {
    var configuration = RTPProcessor.Configuration()
    configuration.maximumHeldPackets = limit
    configuration.reorderWindow = .seconds(3600)
    var noise = SeededGenerator(seed: UInt64(limit))
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, configuration: configuration)
    for packet in sender.packets(2_000) where noise.integer(below: 10) > 0 {
      session.receive(packet)
      if session.statistics.held > UInt64(limit) {
        Issue.record("\(session.statistics.held) packets wait")
        return
      }
    }
    #expect(session.deliveries.count >= 1_000)
  }

  @Test func theBytesThatWaitAreBounded() {
    var configuration = RTPProcessor.Configuration()
    configuration.maximumHeldBytes = 100_000
    configuration.reorderWindow = .seconds(3600)
    var sender = VirtualSender()
    sender.next.payloadLength = 9_988
    var session = VirtualSession.running(&sender, configuration: configuration)
    _ = sender.packet()
    for packet in sender.packets(10) { session.receive(packet) }
    #expect(session.statistics.held == 10)
    session.receive(sender.packet())
    #expect(session.statistics.held == 0)
    #expect(session.reportedLosses == [1])
  }

  @Test(arguments: [Int.min, -1, 0, 1])
  func limitsThatLeaveNoRoomStopNeitherStartNorStream(limit: Int) {
    for limitsBytes in [true, false] {
      var configuration = RTPProcessor.Configuration()
      if limitsBytes {
        configuration.maximumHeldBytes = limit
      } else {
        configuration.maximumHeldPackets = limit
      }
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender, configuration: configuration)
      #expect(session.deliveries.count == 10)
      _ = sender.packet()
      session.receive(sender.packet())
      session.receive(sender.packet())
      session.run(for: .seconds(1))
      #expect(session.deliveries.count == 12)
    }
  }

  /// The gap is so wide that the packets after it fill the ring before they reach the limits.
  @Test func aPacketInOrderBehindAGapThatHadToBeGivenUpLeavesAtOnce() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    _ = sender.packets(2_900)
    var waiting = 0
    for packet in sender.packets(1_300) {
      session.receive(packet)
      if session.deliveries.count == 10 {
        waiting += 1
      } else {
        #expect(session.deliveries.last?.identity == packet.identity)
        #expect(session.statistics.held == 0)
      }
    }
    #expect(waiting < 1_300)
    #expect(session.discontinuities == 1)
    #expect(session.statistics.unconfirmed == 0)
    #expect(session.reportedLosses == [2_900])
  }

  @Test func aFullBufferIsLetGoAtOnce() {
    var configuration = RTPProcessor.Configuration()
    configuration.maximumHeldPackets = 4_000
    var sender = VirtualSender()
    var session: VirtualSession? = VirtualSession.running(&sender, configuration: configuration)
    _ = sender.packet()
    for packet in sender.packets(4_000) { session?.receive(packet) }
    #expect(session?.statistics.held == 4_000)
    var released = session
    released?.finish()
    #expect(released?.deliveries.count == 4_010)
    session = nil
  }
}
