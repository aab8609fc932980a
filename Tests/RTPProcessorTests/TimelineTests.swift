import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite struct TimelineTests {
  private func ticks(of timestamps: [UInt32], start: Instant = .milliseconds(0)) -> [Int64] {
    var session = VirtualSession(start: start, isEntryPoint: { _ in true })
    for (index, timestamp) in timestamps.enumerated() {
      session.receive(
        SentPacket(
          sequence: UInt16(truncatingIfNeeded: index), timestamp: timestamp,
          identity: UInt64(index)))
      session.run(for: .milliseconds(1))
    }
    #expect(session.deliveries.count == timestamps.count)
    for delivery in session.deliveries.dropFirst() {
      #expect(delivery.time == delivery.packet.arrival)
    }
    return session.deliveries.map(\.packet.time.ticks)
  }

  @Test(
    arguments: [
      (
        "goes on over the wrap", [0xFFFF_F000, 0xFFFF_FFFF, 0, 0x1000],
        [0xFFFF_F000, 0xFFFF_FFFF, 0x1_0000_0000, 0x1_0000_1000]
      ),
      ("stands still at 0", [0, 0, 0, 0], [0, 0, 0, 0]),
      ("goes back by one", [10, 9, 8, 7], [10, 9, 8, 7]),
      ("goes back over the wrap", [1, 0, 0xFFFF_FFFF, 1], [1, 0, -1, 1]),
      ("goes back by 2^31 - 1", [0x8000_0000, 1, 2], [0x8000_0000, 1, 2]),
      ("goes on by 2^31 - 1", [5, 0x8000_0004, 0x8000_0005], [5, 0x8000_0004, 0x8000_0005]),
      ("leaps by 2^31", [0, 0x8000_0000, 0], [0, -0x8000_0000, -0x1_0000_0000]),
      (
        "has pictures that refer to later ones", [9000, 18000, 12000, 15000],
        [9000, 18000, 12000, 15000]
      ),
    ] as [(String, [UInt32], [Int64])])
  func aTimestampThat(_ does: String, _ timestamps: [UInt32], _ expected: [Int64]) {
    #expect(ticks(of: timestamps) == expected, "\(does)")
  }

  @Test func wildTimestampsCostNothing() {
    var noise = SeededGenerator(seed: 31)
    for _ in 0..<5 {
      let wild = (0..<500).map { _ in UInt32(truncatingIfNeeded: noise.next()) }
      let places = ticks(of: wild)
      for (step, pair) in zip(zip(wild, wild.dropFirst()), zip(places, places.dropFirst())) {
        #expect(UInt32(truncatingIfNeeded: pair.1 &- pair.0) == step.1 &- step.0)
      }
    }
  }

  @Test(arguments: [
    Int64.min, .min + 1, -1_000_000_000, -1, 0, 1, .max - 10_000_000_000, .max - 1, .max,
  ])
  func theClockMayStartAnywhere(start: Int64) {
    var sender = VirtualSender()
    var session = VirtualSession(
      start: Instant(nanoseconds: start), isEntryPoint: { _ in true })
    for packet in sender.packets(10) {
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    _ = sender.packet()
    for packet in sender.packets(3) { session.receive(packet) }
    session.run(for: .seconds(1))
    session.finish()
    #expect(session.deliveredIdentities == Array(1...10) + Array(12...14))
    #expect(session.statistics.lost == 1)
  }

  @Test func arrivalsFromBothEndsOfTheClockDoNotTrap() {
    var processor = RTPProcessor()
    var sender = VirtualSender()
    for instant in [Int64.min, .max, 0, .min, .max, -1, .max, .min] {
      let arrival = Instant(nanoseconds: instant)
      for ssrc in [UInt32(0xA), 0xB] {
        sender.next.ssrc = ssrc
        for packet in sender.packets(3) {
          _ = processor.receive(Datagram(bytes: packet.bytes, arrival: arrival))
        }
      }
      while processor.next(at: arrival) != nil {}
      #expect(processor.statistics.isBalanced)
    }
  }

  /// A sender whose numbers jump while its clock continues, as after an outage of the network.
  @Test func anOutageDoesNotShiftTheTimeline() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, every: .milliseconds(33), packets: 30)
    let last = session.deliveries.last?.packet.time.ticks ?? 0
    session.run(for: .seconds(5))
    sender.next.sequence &+= 10_000
    sender.next.timestamp &+= 450_000
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(
      session.deliveries.suffix(3).map(\.packet.time.ticks) == [
        last + 453_000, last + 456_000, last + 459_000,
      ])
  }

  /// Half of the timestamps' period is 6.6 h; the sender's clock goes on during a pause, or stands
  /// still.
  @Test(arguments: [20_000, 27_000, 60_000, 400_000], [true, false])
  func aLongPauseIsAsLongAsTheClockSays(seconds: Int, goesOn: Bool) {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let last = session.deliveries.last?.packet.time.ticks ?? 0
    let pause = goesOn ? Int64(seconds) * 90_000 : 0
    sender.next.timestamp &+= UInt32(truncatingIfNeeded: pause)
    session.run(for: .seconds(seconds))
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(
      session.deliveries.suffix(3).map(\.packet.time.ticks) == [
        last + pause + 3000, last + pause + 6000, last + pause + 9000,
      ])
  }

  @Test func aReportDuringALongPauseHasTheTimeOfThePause() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let last = session.deliveries.last?.packet.time.ticks ?? 0
    session.run(for: .seconds(27_000))
    sender.next.timestamp &+= 2_430_000_000
    session.receive(
      senderReport(ssrc: 0xA, ntpTime: 5 << 32, timestamp: sender.next.timestamp))
    let time = MediaTime(ticks: last + 2_430_003_000, timescale: 90_000)
    #expect(session.processor.clock.captureTime(of: time) == WallClockTime(ntpTime: 5 << 32))
  }

  /// A sender that restarts its clock continues at the time that the arrivals suggest.
  @Test(arguments: [UInt32(5), 0x8000_0000, 0xFFFF_FFFF])
  func aClockThatStartsAfreshGoesOnWhereTheArrivalsSay(timestamp: UInt32) {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, every: .milliseconds(33), packets: 30)
    let last = session.deliveries.last?.packet
    session.run(for: .seconds(5))
    sender.next.sequence &+= 10_000
    sender.next.timestamp = timestamp
    for packet in sender.packets(3) { session.receive(packet) }
    let times = session.deliveries.suffix(3).map(\.packet.time.ticks)
    let elapsed = last?.arrival.nanoseconds(to: session.now) ?? 0
    let expected: Int64 = (last?.time.ticks ?? 0) + elapsed * 9 / 100_000
    #expect(times == [expected, expected + 3000, expected + 6000])
  }

  @Test func aStreamMayLastForManyWraps() {
    var sender = VirtualSender(sequence: 65_000, timestamp: 0xFFF0_0000)
    sender.ticksPerFrame = 90_000
    var processor = RTPProcessor()
    var last: OrderedPacket?
    for index in 0..<(4 * 65_536) as Range<Int64> {
      let arrival = Instant.milliseconds(index * 1000)
      _ = processor.receive(
        Datagram(bytes: sender.packet().bytes, arrival: arrival), isEntryPoint: { _ in true })
      while let packet = processor.next(at: arrival) {
        if let last,
          packet.extendedSequence != last.extendedSequence + 1
            || packet.time.ticks != last.time.ticks + 90_000
        {
          Issue.record("\(last.extendedSequence) is followed by \(packet.extendedSequence)")
          return
        }
        last = packet
      }
    }
    #expect(processor.statistics.delivered == 4 * 65_536)
    let sequence: Int64 = 5 * 65_536 + 65_000 - 1
    #expect(last?.extendedSequence == sequence)
    let ticks: Int64 = 0xFFF0_0000 + 90_000 * (4 * 65_536 - 1)
    #expect(last?.time.ticks == ticks)
  }
}
