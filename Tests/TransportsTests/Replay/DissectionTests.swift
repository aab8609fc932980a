import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// From the frame on a link to the packet in it.
struct DissectionTests {
  struct Frame: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var link: UInt32
    var bytes: ByteBuffer
  }

  private static let packet = rtp(7, payload: 20)
  private static let v4 = FrameBytes.ipv4(FrameBytes.udp(packet))
  private static let v6 = FrameBytes.ipv6(FrameBytes.udp(packet))

  /// `header` followed by `packet`.
  private static func behind(_ header: [UInt8], _ packet: ByteBuffer) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: header)
    bytes.writeImmutableBuffer(packet)
    return bytes
  }

  /// A header of IEEE 802.11 up to the number of the frame.
  private static func wireless(_ control: [UInt8]) -> [UInt8] {
    control + [0, 0] + [UInt8](repeating: 2, count: 18) + [0x10, 0]
  }

  private static let snap: [UInt8] = [0xAA, 0xAA, 3, 0, 0, 0]

  static let frames: [Frame] = [
    Frame(testDescription: "Ethernet", link: 1, bytes: FrameBytes.ethernet(v4)),
    Frame(testDescription: "Ethernet, padded", link: 1, bytes: FrameBytes.ethernet(v4, padding: 9)),
    Frame(testDescription: "IPv6", link: 1, bytes: FrameBytes.ethernet(v6, type: 0x86DD)),
    Frame(testDescription: "VLAN", link: 1, bytes: FrameBytes.ethernet(v4, tags: [0x8100])),
    Frame(
      testDescription: "stacked VLANs", link: 1,
      bytes: FrameBytes.ethernet(v6, type: 0x86DD, tags: [0x88A8, 0x8100, 0x9100])),
    Frame(
      testDescription: "PPPoE", link: 1,
      bytes: FrameBytes.ethernet(
        behind([0x11, 0, 0, 1, 0, 70, 0, 0x21], v4), type: 0x8864)),
    Frame(
      testDescription: "Linux cooked", link: 113,
      bytes: behind([0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0], v4)),
    Frame(
      testDescription: "Linux cooked 2", link: 276,
      bytes: behind([0x86, 0xDD] + [UInt8](repeating: 0, count: 18), v6)),
    Frame(testDescription: "raw IP", link: 101, bytes: v4),
    Frame(testDescription: "raw IP of OpenBSD", link: 14, bytes: v6),
    Frame(testDescription: "raw IPv4", link: 228, bytes: v4),
    Frame(testDescription: "raw IPv6", link: 229, bytes: v6),
    Frame(testDescription: "BSD loopback", link: 0, bytes: behind([2, 0, 0, 0], v4)),
    Frame(testDescription: "OpenBSD loopback", link: 108, bytes: behind([0, 0, 0, 30], v6)),
    Frame(testDescription: "PPP", link: 9, bytes: behind([0, 0x21], v4)),
    Frame(testDescription: "PPP in HDLC", link: 50, bytes: behind([0xFF, 3, 0, 0x57], v6)),
    Frame(testDescription: "PPP with short protocols", link: 9, bytes: behind([0x21], v4)),
    Frame(
      testDescription: "NFLOG", link: 239,
      bytes: behind(
        [2, 0, 0, 1] + [8, 0, 1, 0, 8, 0, 3, 0] + [5, 0, 10, 0, 0, 0, 0, 0]
          + [UInt8(4 + v4.readableBytes), 0, 9, 0], v4)),
    Frame(
      testDescription: "NFLOG of a machine of the other byte order", link: 239,
      bytes: behind(
        [10, 0, 0, 1] + [0, 8, 0, 1, 0x86, 0xDD, 3, 0]
          + [0, UInt8(4 + v6.readableBytes), 0, 9], v6)),
    Frame(
      testDescription: "ERF", link: 197,
      bytes: behind(
        [UInt8](repeating: 1, count: 8) + [2, 4, 0, 100, 0, 0, 0, 80, 0, 0],
        FrameBytes.ethernet(v4, tags: [0x8100]))),
    Frame(
      testDescription: "ERF with more headers", link: 197,
      bytes: behind(
        [UInt8](repeating: 1, count: 8) + [0x82, 4, 0, 100, 0, 0, 0, 80]
          + [0x83, 0, 0, 0, 0, 0, 0, 0] + [0x04, 0, 0, 0, 0, 0, 0, 0] + [0, 0],
        FrameBytes.ethernet(v6, type: 0x86DD))),
    Frame(
      testDescription: "Wi-Fi", link: 127,
      bytes: behind(
        [0, 0, 8, 0, 0, 0, 0, 0] + wireless([0x08, 0x02]) + snap + [8, 0], v4)),
    Frame(
      testDescription: "Wi-Fi with quality, a fourth address, and a padded header", link: 127,
      bytes: behind(
        [0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
          + [0x20] + wireless([0x88, 0x03]) + [UInt8](repeating: 3, count: 6) + [5, 0] + snap
          + [0x86, 0xDD], v6)),
    Frame(
      testDescription: "Wi-Fi with a header that is filled up", link: 127,
      bytes: behind(
        [0, 0, 9, 0, 2, 0, 0, 0, 0x20] + wireless([0x88, 0x01]) + [5, 0] + [0, 0] + snap + [8, 0],
        v4)),
    Frame(
      testDescription: "IPv6 with extension headers", link: 101,
      bytes: FrameBytes.ipv6(
        FrameBytes.udp(packet), next: 0,
        extensions: [60, 0, 1, 4, 0, 0, 0, 0] + [51, 1] + [UInt8](repeating: 0, count: 14)
          + [17, 1] + [UInt8](repeating: 0, count: 10))),
    Frame(
      testDescription: "an atomic fragment", link: 101,
      bytes: FrameBytes.ipv6(
        FrameBytes.udp(packet), next: 44, extensions: [17, 0, 0, 0, 0, 0, 0, 9])),
  ]

  static func dissect(
    _ frames: [ByteBuffer], link: UInt32 = 101, missing: Int = 0
  ) -> (packets: [CarriedPacket], statistics: DissectionStatistics) {
    var dissection = Dissection()
    var packets: [CarriedPacket] = []
    for (index, frame) in frames.enumerated() {
      dissection.receive(
        Recording(
          time: Int64(index) * 1_000_000, content: .frame(frame, LinkType(rawValue: link)),
          missing: missing)
      ) { packets.append($0) }
    }
    dissection.finish { packets.append($0) }
    return (packets, dissection.statistics)
  }

  @Test(arguments: frames)
  func aPacketIsFoundUnderTheHeadersOf(frame: Frame) throws {
    let (packets, statistics) = Self.dissect([frame.bytes.shifted], link: frame.link)
    #expect(packets.map(\.bytes) == [Self.packet])
    #expect(statistics.datagrams == 1)
    let carried = try #require(packets.first)
    guard case .udp(let source, let destination) = carried.carrier else {
      Issue.record("not UDP")
      return
    }
    #expect((source.port, destination.port) == (6000, 5004))
    let isVersion6 = source.address.isVersion6
    #expect("\(source)" == (isVersion6 ? "[2001:db8::1]:6000" : "192.0.2.1:6000"))
    #expect("\(destination)" == (isVersion6 ? "[2001:db8::2]:5004" : "192.0.2.2:5004"))
    #expect(source.socketAddress.flatMap(IPEndpoint.init) == source)
  }

  @Test(arguments: frames)
  func aFrameThatEndsAnywhereIsCounted(frame: Frame) throws {
    let end = try #require(frame.bytes.readableBytesView.lastIndex { $0 == 7 }) + 1
    for count in 0..<min(end, frame.bytes.readableBytes) {
      let part = try #require(frame.bytes.getSlice(at: 0, length: count))
      let (none, malformed) = Self.dissect([part.shifted], link: frame.link)
      #expect(none.isEmpty)
      #expect(malformed.cut == 0)
      #expect(malformed.malformed + malformed.otherThanIP == 1)
      let (_, cut) = Self.dissect([part.shifted], link: frame.link, missing: 100)
      #expect(cut.cut + cut.malformed + cut.otherThanIP == 1)
      #expect(cut.datagrams == 0)
    }
  }

  @Test func whatIsNoRTPIsNamed() {
    let (packets, statistics) = Self.dissect(
      [
        FrameBytes.ethernet(ByteBuffer(repeating: 0, count: 46), type: 0x0806),
        FrameBytes.ethernet(FrameBytes.ipv4(ByteBuffer(repeating: 0, count: 8), number: 1)),
        FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.tcp(ByteBuffer(), sequence: 1), number: 6)),
        FrameBytes.ethernet(ByteBuffer(repeating: 0x45, count: 3)),
      ], link: 1)
    #expect(packets.isEmpty)
    #expect(
      statistics.summary == "4 packets (1 TCP, 1 other protocols over IP, 1 not IP, 1 malformed)")
    #expect(Self.dissect([Self.v4], link: 105).statistics.unsupportedLink == 1)
  }

  /// A beacon, data that are encrypted, none, a part, and several packets in one frame.
  @Test(
    arguments: [[0x80, 0], [0x08, 0x42], [0x48, 0x02], [0x08, 0x06], [0x88, 0x02]] as [[UInt8]])
  func whatOfWirelessIsNoPacketIsCounted(control: [UInt8]) {
    let frame = Self.behind(
      [0, 0, 8, 0, 0, 0, 0, 0] + Self.wireless(control) + [0x80, 0] + Self.snap + [8, 0], Self.v4)
    let (packets, statistics) = Self.dissect([frame], link: 127)
    #expect(packets.isEmpty)
    #expect(statistics.otherThanIP == 1)
  }

  /// Headers with random bytes, of every link and protocol: the result is always counted.
  @Test(arguments: 0..<8)
  func anyBytesAreCounted(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let tcp = RTSPRecordingTests.frames(
      of: RTSPRecordingTests.server(hasMessages: true), seed: seed, isImpaired: true)
    let parts = (Self.fragments(isVersion6: true) + Self.fragments(isVersion6: false)).map {
      Frame(testDescription: "", link: 101, bytes: $0)
    }
    let frames = Self.frames + parts + tcp.map { Frame(testDescription: "", link: 1, bytes: $0) }
    var dissection = Dissection()
    var count: UInt64 = 0
    for _ in 0..<2000 {
      let frame = try #require(frames.randomElement(using: &random))
      var bytes = frame.bytes
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let at = Int.random(in: 0..<min(90, bytes.readableBytes), using: &random)
        bytes.setInteger(UInt8.random(in: 0...255, using: &random), at: at)
      }
      let length = Int.random(in: 0...20, using: &random) == 0 ? 30 : bytes.readableBytes
      let missing = Int.random(in: 0...3, using: &random) == 0 ? 10 : 0
      dissection.receive(
        Recording(
          time: Int64(bitPattern: random.next() >> 2),
          content: .frame(
            bytes.getSlice(at: 0, length: length) ?? bytes, LinkType(rawValue: frame.link)),
          missing: missing)
      ) { _ in count += 1 }
    }
    dissection.finish { _ in count += 1 }
    let statistics = dissection.statistics
    #expect(statistics.packets == 2000)
    #expect(count == statistics.datagrams + statistics.frames)
  }

  /// The clock of the machine that recorded was set, or two recordings are one file.
  @Test func timeGoesOnWhereTheClockWasSetBack() {
    let hour: Int64 = 3_600_000_000_000
    var dissection = Dissection()
    func times(of recorded: [Int64]) -> [Int64] {
      var times: [Int64] = []
      for time in recorded {
        dissection.receive(
          Recording(
            time: time, content: .frame(FrameBytes.ethernet(Self.v4), LinkType(rawValue: 1)),
            missing: 0)
        ) { times.append($0.time - hour) }
      }
      return times
    }
    #expect(times(of: [hour, hour + 20, hour + 10, hour + 40]) == [0, 20, 20, 40])
    // A few records that are long past are of an interface whose clock is wrong.
    #expect(times(of: [0, hour + 50, 10, hour + 60]) == [40, 50, 50, 60])
    #expect(times(of: (0..<64).map { $0 }).allSatisfy { $0 == 60 })
    #expect(times(of: [73, 83, 63]) == [70, 80, 80])
    // It is set right again.
    #expect(times(of: [hour + 100, hour + 110]) == [100, 110])
  }

  // MARK: Fragments

  private static let large = FrameBytes.udp(rtp(9, payload: 3000))

  private static func fragments(
    of large: ByteBuffer = large, isVersion6: Bool, identification: UInt16 = 5
  ) -> [ByteBuffer] {
    stride(from: 0, to: large.readableBytes, by: 1000).map { offset in
      let length = min(1000, large.readableBytes - offset)
      let isMore = offset + length < large.readableBytes
      let part = large.getSlice(at: offset, length: length) ?? ByteBuffer()
      guard isVersion6 else {
        return FrameBytes.ipv4(
          part, identification: identification, offset: offset, isMore: isMore)
      }
      let place = UInt16(offset) | (isMore ? 1 : 0)
      return FrameBytes.ipv6(
        part, next: 44,
        extensions: [17, 0, UInt8(place >> 8), UInt8(place & 0xFF), 0, 0, 0, UInt8(identification)])
    }
  }

  @Test(arguments: [false, true])
  func fragmentsInAnyOrderMakeAPacket(isVersion6: Bool) {
    var random = SeededGenerator(seed: 4)
    for _ in 0..<50 {
      var fragments = Self.fragments(isVersion6: isVersion6)
      fragments.shuffle(using: &random)
      fragments.insert(fragments[0], at: 1)
      let (packets, statistics) = Self.dissect(fragments)
      #expect(packets.map(\.bytes) == [rtp(9, payload: 3000)])
      #expect(statistics.fragments == 5)
      #expect(statistics.duplicateFragments == 1)
    }
  }

  /// The same identification comes again, some seconds after a packet of which only the pieces
  /// `former` came.
  @Test(arguments: [(0..<2, 10, 1), (2..<4, 10, 0), (2..<4, 31, 1)], [false, true])
  func piecesOfTwoPacketsAreNotPutTogether(
    _ row: (former: Range<Int>, seconds: Int64, whole: Int), isVersion6: Bool
  ) {
    func large(_ fill: UInt8) -> (packet: ByteBuffer, fragments: [ByteBuffer]) {
      var packet = rtp(9, payload: 3000)
      for place in stride(from: 20, to: 3012, by: 500) { packet.setInteger(fill, at: place) }
      packet.setInteger(fill, at: 3005)
      var datagram = FrameBytes.udp(packet)
      var sum = InternetChecksum()
      for address in isVersion6
        ? [FrameBytes.source6, FrameBytes.destination6]
        : [FrameBytes.source, FrameBytes.destination]
      {
        sum.add(ByteBuffer(bytes: address))
      }
      var rest = ByteBuffer()
      rest.writeMultipleIntegers(UInt32(datagram.readableBytes), UInt32(17))
      sum.add(rest)
      sum.add(datagram)
      datagram.setInteger(sum.value, at: 6)
      return (packet, Self.fragments(of: datagram, isVersion6: isVersion6))
    }
    let second = large(2)
    var dissection = Dissection()
    var packets: [ByteBuffer] = []
    func receive(_ fragments: ArraySlice<ByteBuffer>, at time: Int64) {
      for fragment in fragments {
        dissection.receive(
          Recording(time: time, content: .frame(fragment, LinkType(rawValue: 101)), missing: 0)
        ) { packets.append($0.bytes) }
      }
    }
    // Checksums mean something once one was right.
    receive(second.fragments[...], at: 0)
    receive(large(1).fragments[row.former], at: 0)
    receive(second.fragments[...], at: row.seconds * 1_000_000_000)
    #expect(packets == [ByteBuffer](repeating: second.packet, count: 1 + row.whole))
    #expect(dissection.statistics.mixedFragments == UInt64(1 - row.whole))
    #expect(dissection.statistics.malformed == 0)
  }

  @Test("fragments of a capture whose checksums are all wrong are put together")
  func checksumsThatAreAllWrong() {
    var datagram = FrameBytes.udp(rtp(9, payload: 3000))
    datagram.setInteger(UInt16(0x1234), at: 6)
    let (packets, statistics) = Self.dissect(Self.fragments(of: datagram, isVersion6: false))
    #expect(packets.map(\.bytes) == [rtp(9, payload: 3000)])
    #expect(statistics.mixedFragments == 0)
  }

  @Test func fragmentsThatOverlapCostTheirPacket() throws {
    var fragments = Self.fragments(isVersion6: false)
    let part = try #require(Self.large.getSlice(at: 992, length: 1000))
    fragments.insert(FrameBytes.ipv4(part, identification: 5, offset: 992, isMore: true), at: 1)
    let (packets, statistics) = Self.dissect(fragments)
    #expect(packets.isEmpty)
    #expect(statistics.overlappingFragments == 1)
  }

  @Test func fragmentsBeyondTheEndOfAPacketAreImpossible() {
    let part = ByteBuffer(repeating: 1, count: 1000)
    let (packets, statistics) = Self.dissect([
      FrameBytes.ipv4(part, offset: 65_000, isMore: true), FrameBytes.ipv4(part, offset: 65_528),
      FrameBytes.ipv4(part, identification: 2, offset: 800),
      FrameBytes.ipv4(part, identification: 2, offset: 8000, isMore: true),
    ])
    #expect(packets.isEmpty)
    #expect(statistics.impossibleFragments == 3)
  }

  @Test func fragmentsOfWhichTheRestNeverComesAreForgotten() {
    var frames: [ByteBuffer] = []
    for identification in 1...500 {
      frames.append(
        Self.fragments(isVersion6: false, identification: UInt16(identification))[0])
    }
    frames += Self.fragments(isVersion6: false, identification: 1000)
    #expect(Self.dissect(frames).packets.count == 1)
  }
}
