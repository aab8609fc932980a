import NIOCore
import RTPWire
import Testing

@testable import RTPProcessor

func senderReport(ssrc: UInt32, ntpTime: UInt64, timestamp: UInt32) -> ByteBuffer {
  var bytes = ByteBuffer(bytes: [0x80, 200, 0, 6])
  bytes.writeMultipleIntegers(ssrc, ntpTime, timestamp, UInt32(0), UInt32(0))
  return bytes
}

func goodbye(of sources: [UInt32]) -> ByteBuffer {
  var bytes = ByteBuffer(bytes: [0x80 | UInt8(sources.count), 203, 0, UInt8(sources.count)])
  for source in sources { bytes.writeInteger(source) }
  return bytes
}

@Suite struct ControlTests {
  /// Reports `seconds` by the wall clock and `ticks` by the timestamp after the first one.
  private static let start: UInt64 = 3_900_000_000 << 32

  private func clock(after reports: [(ntpTime: UInt64, ticks: Int64)]) -> (
    clock: ClockMapping, ignored: [ClockMapping.Outcome: UInt64]
  ) {
    var sender = VirtualSender(timestamp: 0)
    sender.ticksPerFrame = 0
    var session = VirtualSession.running(&sender)
    for report in reports {
      session.receive(
        senderReport(
          ssrc: 0xA, ntpTime: report.ntpTime, timestamp: UInt32(truncatingIfNeeded: report.ticks)))
    }
    return (session.processor.clock, session.processor.ignoredSenderReports)
  }

  private func captureTime(_ clock: ClockMapping, at ticks: Int64) -> WallClockTime? {
    clock.captureTime(of: MediaTime(ticks: ticks, timescale: 90_000))
  }

  @Test func aReportMapsMediaTimeToWallClock() {
    let (clock, ignored) = clock(after: [(Self.start, 90_000)])
    #expect(captureTime(clock, at: 90_000) == WallClockTime(ntpTime: Self.start))
    #expect(captureTime(clock, at: 180_000) == WallClockTime(ntpTime: Self.start + 1 << 32))
    #expect(captureTime(clock, at: 45_000) == WallClockTime(ntpTime: Self.start - 1 << 31))
    #expect(captureTime(clock, at: 0) == WallClockTime(ntpTime: Self.start - 1 << 32))
    #expect(captureTime(clock, at: .max) != nil)
    #expect(captureTime(clock, at: .min) != nil)
    #expect(ignored.isEmpty)
  }

  @Test(arguments: [0, UInt64.max])
  func aSenderWithoutAWallClockSaysNothing(ntpTime time: UInt64) {
    let (clock, ignored) = clock(after: [(time, 0)])
    #expect(captureTime(clock, at: 0) == nil)
    #expect(ignored == [.withoutWallClock: 1])
  }

  @Test func aReportFromBeforeTheLastOneIsIgnored() {
    let (clock, ignored) = clock(after: [
      (Self.start, 0), (Self.start + 5 << 32, 450_000), (Self.start + 2 << 32, 180_000),
    ])
    #expect(captureTime(clock, at: 450_000) == WallClockTime(ntpTime: Self.start + 5 << 32))
    #expect(ignored == [.backwards: 1])
  }

  /// Xenon cameras send such reports; a second one in agreement is accepted.
  @Test(arguments: [Int64(6), 3600, 1 << 30, -6, -3600, -(1 << 30)])
  func aReportOfAnotherTimeIsBelievedOnlyWhenASecondAgrees(seconds: Int64) {
    let leap = UInt64(bitPattern: seconds << 32)
    let odd = (Self.start &+ leap &+ 1 << 32, Int64(90_000))
    let name: ClockMapping.Outcome = seconds < 0 ? .backwards : .implausible
    var (clock, ignored) = clock(after: [(Self.start, 0), odd])
    #expect(captureTime(clock, at: 0) == WallClockTime(ntpTime: Self.start))
    #expect(ignored == [name: 1])
    // The network may bring the same report twice.
    (clock, ignored) = self.clock(after: [(Self.start, 0), odd, odd])
    #expect(captureTime(clock, at: 0) == WallClockTime(ntpTime: Self.start))
    #expect(ignored == [name: 2])
    let second = (Self.start &+ leap &+ 2 << 32, Int64(180_000))
    (clock, ignored) = self.clock(after: [(Self.start, 0), odd, second])
    #expect(
      captureTime(clock, at: 180_000) == WallClockTime(ntpTime: Self.start &+ leap &+ 2 << 32))
    #expect(ignored == [name: 1])
  }

  /// Every tick of a second is exact to the nanosecond, whatever the clock rate.
  @Test func timesAreExactToTheNanosecond() throws {
    let (clock, _) = clock(after: [(Self.start, 90_000)])
    let anchor = WallClockTime(ntpTime: Self.start)
    for ticks in stride(from: Int64(-90_000), through: 180_000, by: 7) {
      let time = try #require(captureTime(clock, at: 90_000 + ticks))
      // To the nearest: twice the distance is at most a nanosecond, in units of 1/90,000 ns.
      let exact = ticks * 1_000_000_000
      let distance = ((time.nanoseconds - anchor.nanoseconds) * 90_000 - exact).magnitude
      #expect(distance <= 45_000)
    }
  }

  /// live555 reports before its first packet, GStreamer after it; the next report comes after 5 s.
  @Test(arguments: [0, 1])
  func aReportBeforeTheSourceHasProvedItselfCounts(packetsBefore: Int) {
    var sender = VirtualSender(timestamp: 90_000)
    var session = VirtualSession(isEntryPoint: { _ in true })
    for packet in sender.packets(packetsBefore) { session.receive(packet) }
    for ssrc in UInt32(0xA)...0xC {
      session.receive(
        senderReport(ssrc: ssrc, ntpTime: Self.start + UInt64(ssrc) << 32, timestamp: 90_000))
    }
    for packet in sender.packets(3) { session.receive(packet) }
    #expect(session.processor.ssrc == 0xA)
    #expect(
      captureTime(session.processor.clock, at: 90_000)
        == WallClockTime(ntpTime: Self.start + 0xA << 32))
  }

  /// The timestamps leap, so that the wall clock is another's until the next report says.
  @Test func aRestartWithOtherTimestampsForgetsTheWallClock() {
    var sender = VirtualSender(timestamp: 90_000)
    var session = VirtualSession.running(&sender)
    session.receive(senderReport(ssrc: 0xA, ntpTime: Self.start, timestamp: 90_000))
    sender.next.sequence &+= 20_000
    sender.next.timestamp &+= 1 << 30
    for packet in sender.packets(5) { session.receive(packet) }
    #expect(session.statistics.sequenceRestarts == 1)
    #expect(captureTime(session.processor.clock, at: 90_000) == nil)
  }

  @Test func theRollOverOfTheWallClockIn2036IsNoLeap() {
    let before = UInt64(0xFFFF_FFFE) << 32
    let (clock, ignored) = clock(after: [(before, 0), (3 << 32, 450_000)])
    #expect(captureTime(clock, at: 450_000) == WallClockTime(ntpTime: 3 << 32))
    #expect(captureTime(clock, at: 0) == WallClockTime(ntpTime: before))
    #expect(ignored.isEmpty)
  }

  /// A Tapo C320WS reports under an SSRC that no packet has.
  @Test func aReportOfAnUnknownSourceIsIgnored() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    let report = senderReport(ssrc: 0xB, ntpTime: Self.start, timestamp: 0)
    #expect(session.receive(report) == .control)
    #expect(captureTime(session.processor.clock, at: 0) == nil)
    #expect(session.processor.ssrc == 0xA)
  }

  @Test(
    arguments: [([0xA], true), ([0xB], false), ([0xB, 0xA], true), ([], false)]
      as [([UInt32], Bool)])
  func onlyTheCurrentSourceCanSayGoodbye(_ sources: [UInt32], _ expected: Bool) {
    for channel in [Datagram.Channel.media, .control] {
      var sender = VirtualSender()
      var session = VirtualSession.running(&sender)
      #expect(session.receive(goodbye(of: sources), on: channel) == .control)
      #expect(session.processor.hasSaidGoodbye == expected)
      // It may have overtaken packets, which come soon; one that comes later takes it back.
      #expect(session.receive(sender.packet()) == .inOrder)
      #expect(session.processor.hasSaidGoodbye == expected)
      session.run(for: RTPProcessor.goodbyeGrace + .milliseconds(1))
      #expect(session.receive(sender.packet()) == .inOrder)
      #expect(!session.processor.hasSaidGoodbye)
    }
  }

  @Test func aMalformedGoodbyeHasNoEffect() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    var lying = goodbye(of: [0xA])
    lying.setInteger(UInt8(0x9F), at: 0)
    var overlong = goodbye(of: [0xA])
    overlong.setInteger(UInt8(2), at: 3)
    overlong.writeBytes([255, 0, 0, 0])
    for bytes in [lying, overlong] {
      guard case .malformedControl = session.receive(bytes) else {
        Issue.record("a malformed goodbye was taken in")
        return
      }
      #expect(!session.processor.hasSaidGoodbye)
    }
    #expect(session.receive(sender.packet()) == .inOrder)
  }

  /// Edimax cameras cut the names behind each report, and nothing else tells their time.
  @Test func aReportBeforeADescriptionThatIsCutIsTaken() {
    for ssrc in [UInt32(0xA), 0xB] {
      var sender = VirtualSender(timestamp: 90_000)
      var session = VirtualSession.running(&sender)
      var bytes = senderReport(ssrc: ssrc, ntpTime: Self.start, timestamp: 90_000)
      bytes.writeBytes([0x81, 202, 0, 5, 0, 0, 0, 0xA, 1, 2, 0x61])
      guard case .malformedControl = session.receive(bytes) else {
        Issue.record("a description that is cut was taken for whole")
        return
      }
      #expect(session.statistics.malformedControl == 1)
      #expect(
        captureTime(session.processor.clock, at: 90_000)
          == (ssrc == 0xA ? WallClockTime(ntpTime: Self.start) : nil))
    }
  }

  /// A sender that restarts and ends soon, before its first life is taken for over.
  @Test(arguments: [false, true]) func theGoodbyeOfASuccessorIsKept(goesOn: Bool) {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, every: .milliseconds(33), packets: 60)
    var successor = VirtualSender(sequence: 7, timestamp: 77, ssrc: 0xB, firstIdentity: 1_000)
    for packet in successor.packets(5) { session.receive(packet) }
    session.receive(goodbye(of: [0xB]))
    #expect(session.processor.ssrc == 0xA && !session.processor.hasSaidGoodbye)
    // A packet that comes long after it takes it back.
    if goesOn {
      session.run(for: RTPProcessor.goodbyeGrace + .milliseconds(1))
      session.receive(successor.packet())
    }
    session.run(for: .seconds(3))
    #expect(session.processor.ssrc == 0xB)
    #expect(session.processor.hasSaidGoodbye != goesOn)
  }

  @Test func afterAGoodbyeTheNextSourceTakesOverAtOnce() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender, every: .milliseconds(33), packets: 60)
    session.receive(goodbye(of: [0xA]))
    var successor = VirtualSender(sequence: 7, timestamp: 77, ssrc: 0xB, firstIdentity: 1_000)
    for packet in successor.packets(2) { session.receive(packet) }
    #expect(session.deliveredIdentities.suffix(2) == [1_000, 1_001])
    #expect(session.processor.ssrc == 0xB)
    #expect(!session.processor.hasSaidGoodbye)
  }
}
