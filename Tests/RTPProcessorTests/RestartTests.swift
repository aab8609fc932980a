import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// A stream of 300 packets that have all come out, to continue from in many ways.
private let running: (session: VirtualSession, sender: VirtualSender) = {
  var sender = VirtualSender(sequence: 1000, packetsPerFrame: 3)
  let session = VirtualSession.running(&sender, packets: 300)
  return (session, sender)
}()

/// The same with a sender whose numbering jumps by `places`.
private func leap(_ places: Int) -> (session: VirtualSession, sender: VirtualSender) {
  var (session, sender) = running
  sender.next.sequence &+= UInt16(truncatingIfNeeded: places)
  return (session, sender)
}

@Suite struct RestartTests {
  /// A jump of −65,535 … 65,535 numbers while the timestamps continue.
  ///
  /// - 1 … 2999 places forward is loss: reported once, when the reorder window is over.
  /// - Any other is a new numbering: the second packet proves it and both come out then, with no
  ///   loss reported.
  /// - One place back repeats a single number: the first packet after it is given up, nothing
  ///   waits.
  @Test func everyLeapSettlesWithinTwoPacketsOrTheWindow() {
    let edges = [0, 1, 2, 99, 100, 101, 1023, 1024, 1025, 2999, 3000, 3001, 4095, 4096, 4097]
    let steep = [20_000, 32_766, 32_767, 32_768, 32_769, 65_534, 65_535]
    var leaps = Set(stride(from: -65_535, through: 65_535, by: 37))
    for edge in edges + steep {
      leaps.formUnion([edge, -edge, 65_536 - edge, edge - 65_536].filter { abs($0) < 65_536 })
    }
    for places in leaps.sorted() {
      if let problem = problem(afterLeapOf: places) {
        Issue.record("a leap of \(places): \(problem)")
        return
      }
    }
  }

  private func problem(afterLeapOf places: Int) -> String? {
    var (session, sender) = leap(places)
    let leapt = session.now
    let before = session.deliveries.count
    let packets = sender.packets(8)
    for packet in packets {
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    let forward = (places + 65_536) % 65_536
    let atOnce = session.deliveries.count - before
    session.run(for: .milliseconds(200))
    let expected = forward == 65_535 ? Array(packets.dropFirst()) : packets
    guard Array(session.deliveredIdentities.dropFirst(before)) == expected.map(\.identity) else {
      return "\(session.deliveredIdentities.dropFirst(before)) came out"
    }
    let isLoss = (1...2999).contains(forward)
    guard session.reportedLosses == (isLoss ? [forward] : []) else {
      return "\(session.reportedLosses) are reported as lost"
    }
    guard session.statistics.lost == (isLoss ? UInt64(forward) : 0) else { return "wrong loss" }
    guard atOnce == (isLoss ? 0 : expected.count) else { return "\(atOnce) came out at once" }
    for (place, delivery) in session.deliveries.dropFirst(before).enumerated() {
      let wait = delivery.packet.arrival.nanoseconds(to: delivery.time)
      guard wait <= (isLoss ? 200_000_000 : place == 0 ? 1_000_000 : 0) else {
        return "\(delivery.sequence) waited for \(wait) ns"
      }
    }
    let isRestart = !isLoss && forward != 0 && forward != 65_535
    guard session.statistics.sequenceRestarts == (isRestart ? 1 : 0) else {
      return "\(session.statistics.sequenceRestarts) restarts"
    }
    guard session.discontinuities == (isRestart ? 2 : 1) else { return "discontinuities" }
    guard session.deliveries.last.map({ leapt <= $0.time }) ?? false else { return "silence" }
    return nil
  }

  @Test(arguments: [2, 100, 3000, 3001, 20_000, 32_767, 32_768, 65_534])
  func aSenderThatStartsAfreshInNumberAndTimeLosesNothing(places: Int) {
    for ticks in [UInt32(0), 1, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, .max] {
      var (session, sender) = leap(places)
      sender.next.timestamp &+= ticks
      let before = session.deliveries.count
      let packets = sender.packets(20)
      for packet in packets { session.receive(packet) }
      session.run(for: .milliseconds(200))
      #expect(session.deliveredIdentities.dropFirst(before) == packets.map(\.identity)[...])
      #expect(session.reportedLosses.count <= 1)
    }
  }

  /// Its first numbers are where the next ones after a loss would be.
  @Test(
    arguments: [101, 1000, 2999], [0x2000_0000, 0x7FFF_FFFF, 0x8000_0000, 0xF000_0000 as UInt32])
  func aSenderThatStartsAfreshALittleAheadHasNoLosses(places: Int, ticks: UInt32) {
    var (session, sender) = leap(places)
    sender.next.timestamp &+= ticks
    let before = session.deliveries.count
    let packets = sender.packets(20)
    for packet in packets { session.receive(packet) }
    #expect(session.deliveredIdentities.dropFirst(before) == packets.map(\.identity)[...])
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.sequenceRestarts == 1)
    #expect(session.discontinuities == 2)
  }

  /// A source without times of its own, such as a file, says nothing about how long a loss took.
  @Test(arguments: [101, 2999]) func lossesAtOnceAreNoRestart(places: Int) {
    var (session, sender) = leap(places)
    sender.next.timestamp &+= UInt32(places) * 9000
    for packet in sender.packets(20) { session.receive(packet) }
    session.run(for: .milliseconds(200))
    #expect(session.reportedLosses == [places])
    #expect(session.statistics.sequenceRestarts == 0)
  }

  /// What an outage takes is lost in the network, however much it is.
  @Test(arguments: [4_000, 12_000, 40_000, 70_000, 140_000])
  func anOutageIsALoss(packets: Int) {
    var sender = VirtualSender(packetsPerFrame: 13)
    var session = VirtualSession.running(
      &sender, every: .microseconds(2500), packets: 1000)
    for _ in 0..<packets { _ = sender.packet() }
    session.run(for: .microseconds(2500 * packets))
    for packet in sender.packets(100) {
      session.receive(packet)
      session.run(for: .microseconds(2500))
    }
    session.run(for: .seconds(1))
    #expect(session.statistics.lost == UInt64(packets))
    #expect(session.statistics.lossEvents == 1)
    #expect(session.statistics.sequenceRestarts == 0)
    #expect(session.discontinuities == 2)
  }

  /// A camera at night sends a fifth of what it sends by day.
  @Test(arguments: [(10_000, 2_000), (2_000, 10_000)])
  func anOutageIsALossAtThePaceOfNow(former: Int, interval: Int) {
    var sender = VirtualSender(packetsPerFrame: 1)
    sender.ticksPerFrame = UInt32(9 * former / 100)
    var session = VirtualSession.running(
      &sender, every: .microseconds(former), packets: 600_000_000 / former)
    sender.ticksPerFrame = UInt32(9 * interval / 100)
    for _ in 0..<30_000_000 / interval {
      session.receive(sender.packet())
      session.run(for: .microseconds(interval))
    }
    let missing = 40_000_000 / interval
    for _ in 0..<missing { _ = sender.packet() }
    session.run(for: .microseconds(interval * missing))
    for packet in sender.packets(100) {
      session.receive(packet)
      session.run(for: .microseconds(interval))
    }
    session.run(for: .seconds(1))
    #expect(session.statistics.lost == UInt64(missing))
    #expect(session.statistics.sequenceRestarts == 0)
  }

  /// What an outage took was sent too.
  @Test func anOutageSoonBehindAnotherIsALossToo() {
    var sender = VirtualSender(packetsPerFrame: 1)
    sender.ticksPerFrame = 900
    var session = VirtualSession.running(&sender, every: .milliseconds(10), packets: 3_000)
    for silence in [20, 40] {
      for _ in 0..<silence * 100 { _ = sender.packet() }
      session.run(for: .seconds(silence))
      for _ in 0..<600 {
        session.receive(sender.packet())
        session.run(for: .milliseconds(10))
      }
    }
    #expect(session.statistics.lost == 6_000)
    #expect(session.statistics.sequenceRestarts == 0)
  }

  /// Its first picture is lost in part, and what follows is shown before it.
  @Test func aPictureThatIsShownBeforeLostOnesIsNoRestart() {
    var (session, sender) = running
    sender.next.timestamp &+= 9000
    let first = sender.next.sequence
    _ = sender.packets(100)
    session.receive(sender.packet())
    let newest = sender.next.timestamp
    _ = sender.packets(200)
    let shown = [
      SentPacket(sequence: first &+ 301, timestamp: newest &- 6000, identity: 9_001),
      SentPacket(sequence: first &+ 302, timestamp: newest &- 6000, identity: 9_002),
    ]
    for packet in shown { #expect(session.receive(packet) == .parked) }
    session.run(for: .seconds(1))
    #expect(session.statistics.lost == 300)
    #expect(session.statistics.sequenceRestarts == 0)
  }

  /// It was silent too, but its numbers and times show a restart.
  @Test(arguments: [500, 30_000, 60_000])
  func aSenderThatStartsAfreshAfterASilenceLosesNothing(places: Int) {
    var sender = VirtualSender(packetsPerFrame: 13)
    var session = VirtualSession.running(&sender, every: .microseconds(2500), packets: 1000)
    sender.next.sequence &+= UInt16(places) &+ 4000
    sender.next.timestamp &+= 0x4000_0000
    session.run(for: .seconds(3))
    for packet in sender.packets(100) {
      session.receive(packet)
      session.run(for: .microseconds(2500))
    }
    session.run(for: .seconds(1))
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.sequenceRestarts == 1)
  }

  @Test func theFirstPacketsAfterALeapMayBeReordered() {
    for order in [[1, 0, 2, 3], [2, 1, 0, 3], [0, 2, 1, 3], [3, 2, 1, 0]] {
      var (session, sender) = leap(20_000)
      let before = session.deliveries.count
      let packets = sender.packets(4)
      for index in order { session.receive(packets[index]) }
      session.run(for: .milliseconds(200))
      let out = Array(session.deliveredIdentities.dropFirst(before))
      // The packets that prove it are put in order; one that comes later still is late.
      #expect(out == out.sorted())
      #expect(out.count + Int(session.statistics.late) == 4)
      #expect(session.statistics.sequenceRestarts == 1)
    }
  }

  @Test func onePacketFarAwayIsAStray() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    #expect(
      session.receive(SentPacket(sequence: 40_000, timestamp: 5, identity: 9_999)) == .probation)
    for packet in sender.packets(100) { #expect(session.receive(packet) == .inOrder) }
    #expect(session.statistics.unconfirmed == 1)
    #expect(session.statistics.sequenceRestarts == 0)
    #expect(session.statistics.held == 0)
    #expect(session.discontinuities == 1)
  }

  /// The network puts the last packet of the old numbering behind the first of the new one.
  @Test(arguments: [true, false])
  func aRestartThatThePacketBeforeItOvertakesLosesNothing(beginsAtKey: Bool) {
    var session = VirtualSession(isEntryPoint: { _ in beginsAtKey })
    var sender = VirtualSender()
    for packet in sender.packets(9) { session.receive(packet) }
    session.run(for: .milliseconds(300))
    let delayed = sender.packet()
    var restarted = VirtualSender(sequence: 40_000, timestamp: 5_000_000, firstIdentity: 11)
    #expect(session.receive(restarted.packet()) == .probation)
    session.run(for: .milliseconds(1))
    #expect(session.receive(delayed) == .inOrder)
    for packet in restarted.packets(4) {
      session.run(for: .milliseconds(1))
      session.receive(packet)
    }
    session.run(for: .milliseconds(200))
    #expect(session.deliveredIdentities == Array(1...15))
    #expect(session.statistics.unconfirmed == 0)
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.sequenceRestarts == 1)
    #expect(session.discontinuities == 2)
  }

  @Test func straysThatHaveNothingToDoWithEachOtherProveNothing() {
    var noise = SeededGenerator(seed: 8)
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    for round in 0..<200 {
      let far = UInt16(10_000 + 250 * (round % 150))
      session.receive(SentPacket(sequence: far, timestamp: 7, identity: noise.next()))
      session.run(for: .milliseconds(1))
    }
    session.run(for: .seconds(5))
    #expect(session.receive(sender.packet()) == .inOrder)
    #expect(session.statistics.unconfirmed == 200)
    #expect(session.statistics.sequenceRestarts == 0)
  }

  @Test func whatWaitedBeforeARestartComesOutBeforeIt() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    _ = sender.packets(2)
    for packet in sender.packets(3) { session.receive(packet) }
    sender.next.sequence = 50_000
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(session.deliveredIdentities == Array(1...10) + Array(13...18))
    #expect(session.deliveries.map(\.packet.isDiscontinuity).lastIndex(of: true) == 13)
    #expect(session.reportedLosses == [2])
  }

  /// At 10,000 packets a second the place of a packet that comes too late lies thousands back.
  @Test func aBurstThatComesTooLateIsNoRestart() {
    var sender = VirtualSender(packetsPerFrame: 300)
    var session = VirtualSession.running(&sender, every: .microseconds(100), packets: 300)
    let delayed = sender.packets(20)
    for packet in sender.packets(2_900) {
      session.receive(packet)
      session.run(for: .microseconds(100))
    }
    for packet in delayed { #expect(session.receive(packet) == .late) }
    #expect(session.receive(sender.packet()) == .inOrder)
    #expect(session.statistics.sequenceRestarts == 0)
    #expect(session.statistics.lost == 20)
    #expect(session.statistics.cumulativeLost == 0)
  }

  @Test(arguments: [(1_000, 500), (3_000, 2_000)])
  func aSenderWhoseTimestampsStandStillMayGoBack(_ packets: Int, _ back: UInt16) {
    var sender = VirtualSender()
    sender.ticksPerFrame = 0
    var session = VirtualSession.running(&sender, packets: packets)
    sender.next.sequence &-= back
    expectMedia(from: &sender, in: &session, within: .seconds(1))
  }

  /// The same packets again and again, with the same numbers and timestamps.
  @Test func aClipThatIsReplayedOverAndOverGoesOn() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, packets: 900)
    for _ in 0..<3 {
      let identity = sender.next.identity
      sender = VirtualSender(firstIdentity: identity)
      expectMedia(from: &sender, in: &session, within: .seconds(1))
      for packet in sender.packets(500) {
        session.receive(packet)
        session.run(for: .milliseconds(1))
      }
    }
  }

  private func expectMedia(
    from sender: inout VirtualSender, in session: inout VirtualSession, within patience: Duration
  ) {
    let before = session.deliveries.count
    let end = session.now.advanced(by: patience)
    while session.deliveries.count < before + 5, session.now < end {
      session.receive(sender.packet())
      session.run(for: .milliseconds(1))
    }
    #expect(session.deliveries.count >= before + 5)
  }

  /// Gaps, repeats and restarts at random: while packets arrive, silence lasts no longer than the
  /// reorder window and one packet interval.
  @Test(arguments: 0..<10 as Range<UInt64>)
  func whateverTheSenderDoesItIsNeverSilentForLong(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var sender = VirtualSender(packetsPerFrame: 2)
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = .milliseconds(20)
    let interval = Duration.milliseconds(1)
    var session = VirtualSession.running(&sender, configuration: configuration, every: interval)
    for round in 0..<1_000 {
      switch noise.integer(below: 4) {
      case 0: sender.next.sequence &+= UInt16(noise.integer(below: 40))
      case 1: sender.next.sequence &+= UInt16(noise.integer(below: 3_100))
      case 2:
        sender.next.sequence = UInt16(noise.integer(below: 65_536))
        sender.next.timestamp = UInt32(truncatingIfNeeded: noise.next())
      default:
        sender.next.ssrc = UInt32(truncatingIfNeeded: noise.next())
        sender.next.sequence = UInt16(noise.integer(below: 65_536))
        sender.next.timestamp = UInt32(truncatingIfNeeded: noise.next())
        // A new source takes over once the old one has been silent.
        for packet in sender.packets(2) { session.receive(packet) }
        session.run(for: .seconds(3))
      }
      let started = session.now
      let before = session.deliveries.count
      let packets = 2 + noise.integer(below: 30)
      for packet in sender.packets(packets) {
        session.receive(packet)
        session.run(for: interval)
      }
      let last = session.deliveries.count > before ? session.deliveries.last?.time : started
      let silence = (last ?? started).nanoseconds(to: session.now)
      if silence > (configuration.reorderWindow + interval + interval).wholeNanoseconds {
        Issue.record("silent for \(silence) ns in round \(round)")
        return
      }
    }
    #expect(session.statistics.delivered > 10_000)
  }
}
