import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Senders that take another SSRC with each group of pictures, and strangers who wait for that.
@Suite struct SourceChangeTests {
  /// Packets with the times of pictures, each of three of which the last two are B pictures.
  private static func packetsOfBPictures(_ count: Int) -> [SentPacket] {
    var sender = VirtualSender()
    var packets = sender.packets(count)
    let start = packets[0].timestamp
    for index in packets.indices.dropFirst() {
      let (group, place) = (index - 1).quotientAndRemainder(dividingBy: 3)
      packets[index].timestamp = start + 3000 * UInt32(3 * group + [3, 1, 2][place])
    }
    return packets
  }

  /// A session that has received `packets`.
  private static func session(of packets: [SentPacket]) -> VirtualSession {
    var session = VirtualSession(isEntryPoint: { _ in true })
    for packet in packets {
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    return session
  }

  /// At a P picture, at the B picture behind it and at the next one.
  @Test(arguments: 10...15)
  func theNameChangesAtAPictureWhoseTimeStepsBack(change: Int) {
    var packets = Self.packetsOfBPictures(31)
    for index in change..<31 { packets[index].ssrc = 0xB }
    let session = Self.session(of: packets)
    #expect(session.deliveredIdentities == packets.map(\.identity))
    #expect(session.statistics.sourceChanges == 1)
    #expect(session.discontinuities == 1)
    // It is the same sender.
    #expect(!session.deliveries.contains { $0.packet.beginsOtherSource })
  }

  /// Whether the sender is started again under another SSRC, or only its numbers begin anew.
  @Test(arguments: [true, false])
  func aSenderThatTakesThePlaceOfAnotherOneIsToldApart(isOther: Bool) {
    var packets = Self.packetsOfBPictures(31)
    var sender = VirtualSender(
      sequence: 40_000, timestamp: 5_000_000, ssrc: isOther ? 0xB : packets[0].ssrc,
      firstIdentity: 1_000)
    var session = Self.session(of: packets)
    session.run(for: .seconds(3))
    let more = sender.packets(10)
    for packet in more {
      session.receive(packet)
      session.run(for: .milliseconds(1))
    }
    session.run(for: .seconds(1))
    packets += more
    #expect(session.deliveredIdentities == packets.map(\.identity))
    #expect(session.discontinuities == 2)
    let beginnings = session.deliveries.filter { $0.packet.beginsOtherSource }.map(\.identity)
    #expect(beginnings == (isOther ? [1_000] : []))
  }

  struct Stranger: Sendable {
    /// Where its numbers begin, from the next one of the stream.
    var number: Int
    /// Where its times begin, from the newest one of the stream.
    var time: Int
  }

  private static let strangers = [
    Stranger(number: 0, time: 90_001), Stranger(number: 0, time: -90_001),
    Stranger(number: 101, time: 0), Stranger(number: 101, time: -3000),
    Stranger(number: -2, time: -3000), Stranger(number: 30_000, time: -3000),
  ]

  private static func isFollowed(_ stranger: Stranger, behind packets: [SentPacket]) -> Bool {
    var session = Self.session(of: packets)
    guard let last = packets.last, let newest = packets.map(\.timestamp).max() else { return false }
    var sender = VirtualSender(
      sequence: last.sequence &+ UInt16(truncatingIfNeeded: 1 + stranger.number),
      timestamp: newest &+ UInt32(truncatingIfNeeded: stranger.time), ssrc: 0xB,
      firstIdentity: 1_000)
    for packet in sender.packets(3) { session.receive(packet) }
    return session.processor.ssrc == 0xB
  }

  @Test(arguments: strangers)
  func aStrangerWithOtherNumbersOrTimesIsNotFollowed(_ stranger: Stranger) {
    #expect(!Self.isFollowed(stranger, behind: Self.packetsOfBPictures(31)))
  }

  /// Where no time has stepped back, none may: a stranger's times fit no more often than before.
  @Test func withoutBPicturesNoTimeStepsBackAtAChange() {
    var sender = VirtualSender()
    let packets = sender.packets(31)
    #expect(Self.isFollowed(Stranger(number: 0, time: 180_000), behind: packets))
    #expect(!Self.isFollowed(Stranger(number: 0, time: -3000), behind: packets))
    #expect(!Self.isFollowed(Stranger(number: 0, time: 180_001), behind: packets))
  }

  /// A packet, and when it comes.
  private struct Arrival {
    var packet: SentPacket
    var time: Instant
  }

  /// A sender that takes another SSRC, number and time for each of `groups` of `pictures`.
  private static func groups(
    _ groups: Int, of pictures: Int, framesPerSecond: Int
  ) -> [Arrival] {
    (0..<groups).flatMap { group in
      var sender = VirtualSender(
        sequence: UInt16(truncatingIfNeeded: 20_000 * group), timestamp: UInt32(group) << 30,
        ssrc: 0xA + UInt32(group), firstIdentity: UInt64(group) * 1_000)
      return sender.packets(pictures).enumerated().map { place, packet in
        let frame = Int64(group * pictures + place)
        return Arrival(
          packet: packet, time: Instant(nanoseconds: frame * 1_000_000_000 / Int64(framesPerSecond))
        )
      }
    }
  }

  /// What comes out where no deadline is kept in time, so that packets come before it.
  private static func outcome(
    of arrivals: [Arrival]
  ) -> (deliveries: [Delivery], statistics: ReceptionStatistics) {
    var processor = RTPProcessor()
    var deliveries: [Delivery] = []
    func drain(at now: Instant) {
      while let packet = processor.next(at: now) {
        deliveries.append(Delivery(packet: packet, time: now))
      }
    }
    for arrival in arrivals {
      _ = processor.receive(Datagram(bytes: arrival.packet.bytes, arrival: arrival.time))
      drain(at: arrival.time)
    }
    processor.finish()
    drain(at: arrivals.last?.time ?? Instant(nanoseconds: 0))
    return (deliveries, processor.statistics)
  }

  @Test(arguments: [10, 25, 50])
  func whoComesBetweenTwoChangesIsFollowedToo(framesPerSecond: Int) {
    let arrivals = Self.groups(4, of: framesPerSecond, framesPerSecond: framesPerSecond)
    let outcome = Self.outcome(of: arrivals)
    #expect(outcome.deliveries.map(\.identity) == arrivals.map(\.packet.identity))
    #expect(outcome.statistics.sourceChanges == 3)
    #expect(outcome.statistics.foreignSource == 0)
  }

  @Test(arguments: [10, 25, 50])
  func twoChangesInTheLastSecondLoseNothing(framesPerSecond: Int) {
    let arrivals = Self.groups(3, of: framesPerSecond / 2, framesPerSecond: framesPerSecond)
    let outcome = Self.outcome(of: arrivals)
    #expect(outcome.deliveries.map(\.identity) == arrivals.map(\.packet.identity))
    #expect(outcome.statistics.foreignSource == 0)
  }

  /// Ten packets a millisecond are more than wait until the silence of the first source is certain.
  @Test func aFastSenderThatTakesAnotherNameLosesNothing() {
    var first = VirtualSender()
    var successor = VirtualSender(sequence: 20_000, ssrc: 0xB, firstIdentity: 1_000)
    var session = VirtualSession.running(&first, packets: 200)
    for packet in successor.packets(3_000) {
      session.receive(packet)
      session.run(for: .microseconds(100))
    }
    session.run(for: .seconds(3))
    #expect(session.deliveredIdentities == Array(1...200) + Array(1_000..<4_000))
    #expect(session.statistics.foreignSource == 0)
    #expect(session.statistics.sourceChanges == 1)
  }

  /// The first source is held back for less time than the network may reorder.
  @Test func aFloodInAPauseOfTheNetworkTakesNothingOver() {
    var first = VirtualSender()
    var stranger = VirtualSender(sequence: 20_000, ssrc: 0xB, firstIdentity: 10_000)
    var session = VirtualSession.running(&first, packets: 200)
    for packet in stranger.packets(3_000) {
      session.receive(packet)
      session.run(for: .microseconds(50))
    }
    for packet in first.packets(10) { #expect(session.receive(packet) == .inOrder) }
    #expect(session.statistics.sourceChanges == 0)
  }

  /// The stranger sends at the very moment at which the first source is found silent.
  @Test func aStrangerDoesNotGetAheadOfTheSuccessor() {
    var first = VirtualSender()
    var successor = VirtualSender(sequence: 20_000, ssrc: 0xB, firstIdentity: 1_000)
    var stranger = VirtualSender(sequence: 50_000, ssrc: 0xE, firstIdentity: 2_000)
    var arrivals: [Arrival] = []
    for frame in 0..<90 {
      let time = Instant.milliseconds(40 * Int64(frame))
      if (35..<75).contains(frame) {
        arrivals.append(Arrival(packet: stranger.packet(), time: time))
      }
      let packet = frame < 25 ? first.packet() : successor.packet()
      arrivals.append(Arrival(packet: packet, time: time))
    }
    let outcome = Self.outcome(of: arrivals)
    #expect(Set(outcome.deliveries.map(\.packet.packet.ssrc)) == [0xA, 0xB])
    #expect(outcome.statistics.foreignSource == 40)
  }
}
