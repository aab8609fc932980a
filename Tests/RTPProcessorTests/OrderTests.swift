import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite struct OrderTests {
  @Test(arguments: [0, 1, 32767, 32768, 65534, 65535] as [UInt16])
  func aStreamInOrderLeavesAtOnce(start: UInt16) {
    var sender = VirtualSender(sequence: start)
    var session = VirtualSession.running(&sender, packets: 500)
    session.finish()
    #expect(session.deliveredIdentities == Array(1...500))
    // The second packet proves the source; from then on nothing waits.
    for delivery in session.deliveries.dropFirst() {
      #expect(delivery.time == delivery.packet.arrival)
    }
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.reordered == 0)
    #expect(session.discontinuities == 1)
    #expect(session.deliveries.first?.packet.isDiscontinuity == true)
  }

  @Test func onlyWhatIsBehindAGapWaits() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let packets = sender.packets(8)
    for index in [0, 2, 3, 1, 4, 5, 7, 6] {
      session.receive(packets[index])
      session.run(for: .milliseconds(1))
    }
    let start = Instant.milliseconds(10)
    let waits = session.deliveries.suffix(8).map { delivery in
      (start.nanoseconds(to: delivery.packet.arrival), start.nanoseconds(to: delivery.time))
    }
    let milliseconds = waits.map { [$0.0 / 1_000_000, $0.1 / 1_000_000] }
    #expect(
      milliseconds == [[0, 0], [3, 3], [1, 3], [2, 3], [4, 4], [5, 5], [7, 7], [6, 7]])
    #expect(session.statistics.reordered == 2)
    #expect(session.statistics.greatestReorderDepth == 2)
  }

  /// The seven orders below come from the tests of gortsplib, androidx media and retina.
  ///
  /// Retina drops late packets at once, and androidx gives up at a jump of 1000; here both wait.
  @Test(
    arguments: [
      ([1, 4, 5, 2, 3, 6], [1, 2, 3, 4, 5, 6], 0),
      ([65000, 65001, 65002, 65003, 2, 3, 65004], [65000, 65001, 65002, 65003, 65004, 2, 3], 533),
      (
        [65530, 65531, 65531, 65535, 65533, 65533, 65532, 65534, 1, 0],
        [65530, 65531, 65532, 65533, 65534, 65535, 0, 1], 0
      ),
      ([65534, 65535, 0], [65534, 65535, 0], 0),
      ([1, 2, 1010, 1011], [1, 2, 1010, 1011], 1007),
      ([0, 2, 1, 3], [0, 1, 2, 3], 0),
      ([1563, 1564] + Array(1599...1629), [1563, 1564] + Array(1599...1629), 34),
    ] as [([UInt16], [UInt16], UInt64)])
  func otherReceiversOrdersComeOutInOrder(
    _ arrivals: [UInt16], _ expected: [UInt16], _ lost: UInt64
  ) {
    var session = VirtualSession(isEntryPoint: { _ in true })
    var identities: [UInt16: UInt64] = [:]
    for (index, sequence) in arrivals.enumerated() {
      let identity = identities[sequence] ?? UInt64(index)
      identities[sequence] = identity
      session.receive(SentPacket(sequence: sequence, identity: identity))
    }
    session.run(for: .seconds(1))
    #expect(session.sequences == expected)
    #expect(session.statistics.lost == lost)
    #expect(session.statistics.duplicate == UInt64(arrivals.count - expected.count))
  }

  @Test(arguments: [1, 2, 5, 16, 64, 200, 512])
  func anyReorderingInsideTheWindowIsUndone(depth: Int) {
    for seed in 0..<UInt64(max(3, 60 / depth)) {
      var noise = SeededGenerator(seed: seed)
      var sender = VirtualSender(sequence: 65_000, packetsPerFrame: 7)
      var session = VirtualSession(isEntryPoint: { _ in true })
      let packets = sender.packets(3 * depth + 50)
      // The first two are in order, each later packet may come up to `depth` places late.
      let arrivals = packets.enumerated().map { index, packet in
        (place: index < 2 ? index : index + noise.integer(below: depth + 1), packet: packet)
      }
      let step = Duration.nanoseconds(200_000_000 / Int64(depth + 1))
      for (place, packet) in arrivals.sorted(by: { $0.place < $1.place }) {
        session.run(to: Instant(nanoseconds: Int64(place) * step.wholeNanoseconds))
        session.receive(packet)
      }
      session.run(for: .seconds(1))
      #expect(session.deliveredIdentities == packets.map(\.identity))
      #expect(session.statistics.lost == 0)
      #expect(session.statistics.greatestReorderDepth <= UInt64(depth))
    }
  }

  @Test func aBatchInReverseIsUndone() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    for packet in sender.packets(512).reversed() {
      session.receive(packet)
      session.run(for: .microseconds(300))
    }
    #expect(session.deliveredIdentities == Array(1...522))
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.greatestReorderDepth == 511)
  }

  @Test func aPacketThatCameBeforeIsDroppedWhereverItStands() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let packets = sender.packets(6)
    #expect(session.receive(packets[0]) == .inOrder)
    #expect(session.receive(packets[0]) == .duplicate)
    #expect(session.receive(packets[2]) == .parked)
    #expect(session.receive(packets[2]) == .duplicate)
    #expect(session.receive(packets[4]) == .parked)
    #expect(session.receive(packets[1]) == .inOrder)
    #expect(session.receive(packets[2]) == .duplicate)
    #expect(session.receive(packets[4]) == .duplicate)
    #expect(session.receive(packets[3]) == .inOrder)
    for packet in packets.prefix(5) { #expect(session.receive(packet) == .duplicate) }
    #expect(session.receive(packets[5]) == .inOrder)
    #expect(session.deliveredIdentities == Array(1...16))
    #expect(session.statistics.duplicate == 9)
    #expect(session.statistics.lost == 0)
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func duplicatesAreDroppedHoweverLateAndOften(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var sender = VirtualSender(sequence: 65_000, packetsPerFrame: 4)
    var session = VirtualSession.running(&sender)
    var arrivals: [(place: Int, packet: SentPacket)] = []
    for (index, packet) in sender.packets(1_000).enumerated() where noise.integer(below: 20) > 0 {
      arrivals.append((index + noise.integer(below: 6), packet))
      for _ in 0..<noise.integer(below: 3) {
        arrivals.append((index + noise.integer(below: 400), packet))
      }
    }
    for (place, packet) in arrivals.sorted(by: { $0.place < $1.place }) {
      session.run(to: .milliseconds(10 + Int64(place)))
      session.receive(packet)
    }
    session.run(for: .seconds(1))
    let sent = Set(arrivals.map(\.packet.identity))
    #expect(session.deliveredIdentities == Array(1...10) + sent.sorted())
    #expect(session.statistics.duplicate == UInt64(arrivals.count - sent.count))
    #expect(session.statistics.late == 0)
  }

  @Test func aDuplicateOnTheBrinkOfOverflowIsStillADuplicate() {
    var configuration = RTPProcessor.Configuration()
    configuration.maximumHeldPackets = 16
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, configuration: configuration)
    _ = sender.packet()
    let parked = sender.packets(16)
    for packet in parked { #expect(session.receive(packet) == .parked) }
    for packet in parked { #expect(session.receive(packet) == .duplicate) }
    #expect(session.deliveries.count == 10)
    #expect(session.receive(sender.packet()) == .parked)
    for packet in parked { #expect(session.receive(packet) == .duplicate) }
    #expect(session.deliveredIdentities == Array(1...10) + Array(12...28))
    #expect(session.statistics.duplicate == 32)
    #expect(session.reportedLosses == [1])
  }
}
