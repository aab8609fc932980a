import NIOCore
import RTPWire
import Testing

@testable import Transports

struct SourcePinTests {
  private static let server = endpoint("192.0.2.1", 5004)
  private static let otherPort = endpoint("192.0.2.1", 6000)
  private static let stranger = endpoint("198.51.100.9", 5004)

  /// Feeds packets to a pin, keeping the time in milliseconds.
  private struct Feed {
    var pin: SourcePin
    var now: Int64 = 0

    init(expecting expectation: SourcePin.Expectation) { pin = SourcePin(expecting: expectation) }

    /// How many datagrams come out for one that goes in.
    mutating func send(
      _ sequenceNumber: UInt16, ssrc: UInt32 = 1, from origin: SocketAddress
    ) -> Int {
      send(bytes: rtp(sequenceNumber, ssrc: ssrc), from: origin)
    }

    mutating func send(bytes: ByteBuffer, from origin: SocketAddress) -> Int {
      count(pin.admit(datagram(bytes, .media, origin), from: origin))
    }

    mutating func sendControl(_ bytes: ByteBuffer, from origin: SocketAddress) -> Int {
      count(pin.admitControl(datagram(bytes, .control, origin), from: origin))
    }

    private func datagram(
      _ bytes: ByteBuffer, _ channel: Datagram.Channel, _ origin: SocketAddress
    ) -> Datagram {
      Datagram(
        bytes: bytes, arrival: Instant(nanoseconds: now * 1_000_000), channel: channel,
        origin: origin)
    }

    private func count(_ verdict: SourcePin.Verdict) -> Int {
      switch verdict {
      case .accepted: return 1
      case .latched(let datagrams): return datagrams.count
      case .held, .foreign: return 0
      }
    }
  }

  // MARK: Another port

  @Test("a NAT gives sound and pictures on one port another one", arguments: [1, 2] as [UInt32])
  func anotherPortForBoth(first: UInt32) {
    var feed = Feed(expecting: .peer(Self.server))
    for number in 10..<20 as Range<UInt16> {
      _ = feed.send(number, ssrc: 1, from: Self.server)
      _ = feed.send(number + 500, ssrc: 2, from: Self.server)
    }
    feed.now += 3000
    let start: UInt16 = first == 1 ? 20 : 520
    let delivered = (0..<4).map { feed.send(start + $0, ssrc: first, from: Self.otherPort) }
    #expect(delivered.reduce(0, +) == 4)
    #expect(feed.pin.source == Self.otherPort)
    // A third one is somebody else.
    feed.now += 3000
    let foreign = (0..<4).map { feed.send($0, ssrc: 3, from: Self.server) }
    #expect(foreign == [0, 0, 0, 0])
  }

  // MARK: A bad network

  /// Each pair swapped, every second one lost, two of three lost.
  private static let badNumbers: [[UInt16]] = [
    [1, 0, 3, 2, 5, 4, 7, 6, 9, 8], [0, 2, 4, 6, 8, 10, 12, 14, 16, 18],
    [0, 3, 6, 9, 12, 15, 18, 21, 24, 27],
  ]

  @Test("a sender is found whose packets come badly", arguments: badNumbers)
  func aBadNetwork(numbers: [UInt16]) {
    var feed = Feed(expecting: .anyone)
    let delivered = numbers.map { feed.send($0, from: Self.server) }
    #expect(feed.pin.source == Self.server)
    #expect(delivered.reduce(0, +) == numbers.count)
  }

  @Test func audioAndVideoOnOnePort() {
    var feed = Feed(expecting: .anyone)
    var delivered = 0
    for number in 0..<20 as Range<UInt16> {
      delivered += feed.send(number, ssrc: 1, from: Self.server)
      delivered += feed.send(number &+ 5000, ssrc: 2, from: Self.server)
    }
    #expect(feed.pin.source == Self.server)
    // What came of the other before the first one had proved itself is there too.
    #expect(delivered == 40)
  }

  @Test func numbersAtRandomProveNothing() {
    var feed = Feed(expecting: .anyone)
    for index in 0..<50 {
      #expect(feed.send(UInt16(index * 1009), from: Self.stranger) == 0)
      // Nor do ever more sources, and they use no more memory.
      #expect(feed.send(7, ssrc: UInt32(index + 2), from: Self.stranger) == 0)
    }
    #expect(feed.pin.source == nil)
  }

  // MARK: A known server

  @Test func aKnownServerIsAcceptedFromTheFirstPacketOn() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(7, from: Self.server) == 1)
    #expect(feed.pin.source == Self.server)
    #expect(feed.pin.lastMedia == Instant(nanoseconds: 0))
  }

  @Test(arguments: [0, 1, 10])
  func anotherHostWithTheRightSSRCAndNumbersIsNeverAccepted(genuineBefore: UInt16) {
    var feed = Feed(expecting: .peer(Self.server))
    for number in 0..<genuineBefore { #expect(feed.send(number, from: Self.server) == 1) }
    for number in genuineBefore..<genuineBefore + 100 {
      feed.now += 400
      #expect(feed.send(number, from: Self.stranger) == 0)
    }
    #expect(feed.pin.source == Self.server)
  }

  @Test func anotherPortOfTheHostIsRefusedOnceTheServerHasSent() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(0, from: Self.server) == 1)
    for number in 1..<20 as Range<UInt16> {
      feed.now += 50
      #expect(feed.send(number, from: Self.otherPort) == 0)
    }
  }

  @Test func aServerThatAnswersFromAnotherPortIsTakenOnAndNothingOfItIsLost() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(10, from: Self.otherPort) == 0)
    #expect(feed.send(11, from: Self.otherPort) == 2)
    #expect(feed.send(12, from: Self.otherPort) == 1)
    #expect(feed.pin.source == Self.otherPort)
    #expect(feed.send(13, from: Self.server) == 0)
    #expect(feed.pin.rebindings == 0)
  }

  // MARK: Rebinding

  @Test func aNATThatGivesTheServerANewPortIsFollowedAfterTwoSeconds() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(100, from: Self.server) == 1)
    feed.now = 1999
    #expect(feed.send(101, from: Self.otherPort) == 0)
    #expect(feed.send(102, from: Self.otherPort) == 0)
    feed.now = 2000
    #expect(feed.send(103, from: Self.otherPort) == 0)
    #expect(feed.send(104, from: Self.otherPort) == 2)
    #expect(feed.pin.rebindings == 1)
    #expect(feed.send(105, from: Self.server) == 0)
  }

  @Test func aNewPortWithAnotherSSRCIsNotFollowed() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(100, from: Self.server) == 1)
    feed.now = 60_000
    for number in 101..<110 as Range<UInt16> {
      #expect(feed.send(number, ssrc: 2, from: Self.otherPort) == 0)
    }
  }

  @Test func aNewPortWithNumbersThatDoNotContinueIsNotFollowed() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(100, from: Self.server) == 1)
    feed.now = 2500
    #expect(feed.send(40_000, from: Self.otherPort) == 0)
    #expect(feed.send(40_001, from: Self.otherPort) == 0)
    #expect(feed.pin.rebindings == 0)
  }

  @Test func aServerThatSentOnDuringAnOutageOfHalfAMinuteIsFollowedToItsNewPort() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(100, from: Self.server) == 1)
    feed.now = 30_000
    #expect(feed.send(30_100, from: Self.otherPort) == 0)
    #expect(feed.send(30_101, from: Self.otherPort) == 2)
  }

  @Test func aServerThatComesBackOnItsPortAfterAnOutageNeedsNoProbation() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(100, from: Self.server) == 1)
    feed.now = 30_000
    for number in 50_000..<50_100 as Range<UInt16> {
      #expect(feed.send(number, ssrc: 9, from: Self.server) == 1)
    }
  }

  @Test func aStrangerDuringTheServersSilenceIsNotFollowed() {
    var feed = Feed(expecting: .peer(Self.server))
    #expect(feed.send(100, from: Self.server) == 1)
    feed.now = 600_000
    #expect(feed.send(101, from: Self.stranger) == 0)
    #expect(feed.send(102, from: Self.stranger) == 0)
  }

  // MARK: Listening

  @Test func aListenerTakesTheFirstSourceThatProvesItself() {
    var feed = Feed(expecting: .anyone)
    #expect(feed.send(1, ssrc: 8, from: Self.stranger) == 0)
    #expect(feed.send(65_535, from: Self.server) == 0)
    #expect(feed.send(0, from: Self.server) == 2)
    #expect(feed.send(2, ssrc: 8, from: Self.stranger) == 0)
    #expect(feed.pin.source == Self.server)
    #expect(feed.pin.discarded == 1)
  }

  @Test func aReorderedStartLosesNothing() {
    var feed = Feed(expecting: .anyone)
    #expect(feed.send(3, from: Self.server) == 0)
    #expect(feed.send(1, from: Self.server) == 2)
    #expect(feed.send(2, from: Self.server) == 1)
  }

  @Test func garbageIsNotASource() {
    var feed = Feed(expecting: .anyone)
    for _ in 0..<4 {
      #expect(feed.send(bytes: ByteBuffer(string: "GET / HTTP/1.1"), from: Self.stranger) == 0)
      #expect(feed.send(bytes: ByteBuffer(), from: Self.stranger) == 0)
      #expect(feed.send(bytes: senderReport(), from: Self.stranger) == 0)
    }
    #expect(feed.pin.source == nil)
  }

  /// Who is started again, how long that takes, and whether it has the SSRC of the former one.
  @Test(
    arguments: [
      (otherPort, 1000, 2), (otherPort, 2000, 1), (stranger, 5000, 1), (stranger, 5000, 2),
    ] as [(SocketAddress, Int64, UInt32)])
  func aSenderThatIsStartedAgainIsTakenOnceTheFormerOneIsSilent(
    newcomer: SocketAddress, milliseconds: Int64, ssrc: UInt32
  ) {
    for expectation in [SourcePin.Expectation.anyone, .hosts([Self.server, Self.stranger])] {
      var feed = Feed(expecting: expectation)
      _ = feed.send(1, from: Self.server)
      _ = feed.send(2, from: Self.server)
      feed.now = milliseconds - 1
      #expect(feed.send(3, ssrc: ssrc, from: newcomer) == 0)
      #expect(feed.send(4, ssrc: ssrc, from: newcomer) == 0)
      feed.now = milliseconds
      #expect(feed.send(5, ssrc: ssrc, from: newcomer) == 0)
      #expect(feed.send(6, ssrc: ssrc, from: newcomer) == 2)
      #expect(feed.pin.source == newcomer)
      #expect(feed.pin.rebindings == 1)
    }
  }

  /// A socket for both families shows addresses of IPv4 mapped.
  @Test func aFilterOfIPv4HoldsForASocketOfBothFamilies() {
    let mapped = endpoint("::ffff:192.0.2.1", 5004)
    func sent(_ expectation: SourcePin.Expectation, from origin: SocketAddress) -> Int {
      var feed = Feed(expecting: expectation)
      return feed.send(1, from: origin) + feed.send(2, from: origin)
    }
    #expect(sent(.hosts([Self.server]), from: mapped) == 2)
    #expect(sent(.others(than: [Self.server]), from: mapped) == 0)
    #expect(sent(.others(than: [Self.server]), from: Self.stranger) == 2)
  }

  @Test func twoSendersOfOneHostNeverAlternateWhileTheFirstOneSends() {
    var feed = Feed(expecting: .anyone)
    for number in 0..<100 as Range<UInt16> {
      let delivered = feed.send(number, from: Self.server)
      #expect(delivered == (number == 0 ? 0 : number == 1 ? 2 : 1))
      guard number > 0 else { continue }
      feed.now += 500
      #expect(feed.send(number, ssrc: 2, from: Self.otherPort) == 0)
      feed.now += 499
    }
    #expect(feed.pin.source == Self.server)
  }

  /// A second camera behind the same NAT, or the sound of the same program.
  @Test func whoHasSentBesideTheSenderIsNoRestartOfIt() {
    var feed = Feed(expecting: .anyone)
    _ = feed.send(1, from: Self.server)
    _ = feed.send(2, from: Self.server)
    feed.now = 10
    #expect(feed.send(1, ssrc: 2, from: Self.otherPort) == 0)
    feed.now = 20
    #expect(feed.send(3, from: Self.server) == 1)
    for number in 2..<50 as Range<UInt16> {
      feed.now = 20 + Int64(number) * 100
      #expect(feed.send(number, ssrc: 2, from: Self.otherPort) == 0)
    }
    #expect(feed.send(4, from: Self.server) == 1)
    feed.now += 5000
    #expect(feed.send(60, ssrc: 2, from: Self.otherPort) == 0)
    #expect(feed.send(61, ssrc: 2, from: Self.otherPort) == 2)
  }

  @Test func aSourceSpecificListenerTakesItsHostOnly() {
    var feed = Feed(expecting: .host(Self.server.with(port: 0)))
    #expect(feed.send(1, from: Self.stranger) == 0)
    #expect(feed.send(2, from: Self.stranger) == 0)
    #expect(feed.send(1, from: Self.otherPort) == 0)
    #expect(feed.send(2, from: Self.otherPort) == 2)
    feed.now = 100_000
    #expect(feed.send(3, from: Self.stranger) == 0)
    #expect(feed.send(4, from: Self.stranger) == 0)
  }

  // MARK: Bounds

  @Test func aFloodFromManyPortsHoldsLittleAndDoesNotShutTheSenderOut() {
    var feed = Feed(expecting: .anyone)
    for port in 1...10_000 {
      #expect(feed.send(5, from: endpoint("198.51.100.9", port)) == 0)
    }
    #expect(feed.pin.discarded == UInt64(10_000 - SourcePin.maximumCandidates))
    #expect(feed.pin.waiting == (UInt64(SourcePin.maximumCandidates), 0))
    #expect(feed.send(1, from: Self.server) == 0)
    #expect(feed.send(2, from: Self.server) == 2)
    #expect(feed.pin.discarded == 10_000)
    #expect(feed.pin.waiting == (0, 0))
  }

  @Test func aSourceThatNeverComesInSequenceIsHeldInBounds() {
    var feed = Feed(expecting: .anyone)
    for number in 0..<1000 as Range<UInt16> {
      #expect(feed.send(number &* 20, from: Self.server) == 0)
    }
    #expect(feed.send(19_981, from: Self.server) == 16)
    #expect(feed.pin.discarded == 985)
  }

  @Test func whatIsHeldDoesNotKeepTheReadItCameIn() {
    var pin = SourcePin(expecting: .anyone)
    var read = ByteBuffer(repeating: 0, count: 1 << 20)
    read.setBuffer(rtp(1, ssrc: 1), at: 0)
    read.setBuffer(rtp(2, ssrc: 1), at: 100)
    for offset in [0, 100] {
      let bytes = read.getSlice(at: offset, length: 12) ?? ByteBuffer()
      let datagram = Datagram(bytes: bytes, arrival: Instant(nanoseconds: 0))
      if case .latched(let held) = pin.admit(datagram, from: Self.server) {
        #expect(held.map(\.bytes) == [rtp(1, ssrc: 1), rtp(2, ssrc: 1)])
        #expect(held.allSatisfy { $0.bytes.storageCapacity < 1024 })
      }
    }
    #expect(pin.source == Self.server)
  }

  // MARK: RTCP

  @Test func controlIsTakenFromTheSourcesHostOnAnyPortAndFromNoOther() {
    var feed = Feed(expecting: .anyone)
    _ = feed.send(1, from: Self.server)
    _ = feed.send(2, from: Self.server)
    #expect(feed.sendControl(senderReport(), from: Self.otherPort) == 1)
    #expect(feed.sendControl(senderReport(), from: Self.stranger) == 0)
    #expect(feed.sendControl(ByteBuffer(string: "x"), from: Self.stranger) == 0)
  }

  @Test func theReportThatFFmpegSendsBeforeItsFirstPacketIsNotLost() {
    var feed = Feed(expecting: .anyone)
    #expect(feed.sendControl(senderReport(), from: Self.stranger) == 0)
    #expect(feed.sendControl(senderReport(), from: Self.otherPort) == 0)
    #expect(feed.send(bytes: senderReport(), from: Self.server) == 0)
    #expect(feed.send(1, from: Self.server) == 0)
    #expect(feed.send(2, from: Self.server) == 4)
    #expect(feed.pin.discarded == 1)
  }

  @Test func aFloodOfReportsBeforeAnyMediaIsHeldInBounds() {
    var feed = Feed(expecting: .anyone)
    for _ in 0..<1000 { #expect(feed.sendControl(senderReport(), from: Self.server) == 0) }
    #expect(feed.sendControl(ByteBuffer(string: "junk"), from: Self.server) == 0)
    #expect(feed.pin.discarded == 0)
    #expect(feed.pin.reportsAlone == 992)
    feed.pin.discardHeld()
    #expect(feed.pin.waiting == (0, 8))
  }
}
