import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Transports

/// What is captured is what is played again.
struct CaptureFileTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  /// Datagrams of every size at the edges of UDP and IP, and samples of the others.
  private static let sizes: [Int] = {
    var random = SeededGenerator(seed: 3)
    return Array(12...64) + [1400, 1472, 1473, 9000, 65_506, 65_507, 65_508, 65_526, 65_527]
      + [65_528, 65_534, 65_535]
      + (0..<60).map { _ in Int.random(in: 65...65_535, using: &random) }
  }()

  private static func packets(_ origin: SocketAddress?) -> [Datagram] {
    sizes.filter { origin == nil || $0 <= 65_507 }.enumerated().flatMap { index, size in
      let time = Instant(nanoseconds: 1_700_000_000_000_000_000 + Int64(index) * 7)
      let media = Datagram(
        bytes: rtp(UInt16(index), payload: size - 12), arrival: time, origin: origin)
      var report = senderReport()
      report.writeRepeatingByte(UInt8(index), count: 4 * (index % 5))
      return [
        media, Datagram(bytes: report, arrival: time, channel: .control, origin: origin),
      ]
    }
  }

  private func play(_ path: String) async throws -> RecordingSink {
    let transport = ReplayTransport(path: path, on: eventLoop)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.ends.first(1)
    return sink
  }

  private static func path() -> String {
    NSTemporaryDirectory() + "\(UUID().uuidString).pcapng"
  }

  @Test(
    "packets of every size, from",
    arguments: [nil, endpoint("203.0.113.9", 7000), endpoint("2001:db8::9", 7000)])
  func everySize(origin: SocketAddress?) async throws {
    let path = Self.path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let datagrams = Self.packets(origin)
    let file = try CaptureFile(path: path)
    file.beginConnection()
    for datagram in datagrams {
      file.write(
        datagram, from: origin.flatMap(IPEndpoint.init), at: datagram.arrival.nanoseconds)
    }
    let counters = await file.finish()
    #expect(counters.packets == UInt64(datagrams.count))
    #expect((counters.dropped, counters.failure) == (0, nil))
    let sink = try await play(path)
    let played = sink.datagrams.elements
    #expect(played.map(\.bytes) == datagrams.map(\.bytes))
    #expect(played.map(\.channel) == datagrams.map(\.channel))
    #expect(played.map(\.arrival) == datagrams.map(\.arrival))
    if origin != nil { #expect(played.allSatisfy { $0.origin == origin }) }
  }

  @Test func theDescriptionComesAgainAndNothingElseOfIt() async throws {
    let path = Self.path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let media = MediaDescription(
      payloadType: 96, encodingName: "H264", clockRate: 90_000,
      formatParameters: [
        "packetization-mode": "1", "sprop-parameter-sets": "Z0LgHtoCgPRA,aM4wpIA=",
        "odd\r\na=key": "x;y z",
      ])
    let file = try CaptureFile(path: path)
    file.describe([media, MediaDescription(kind: .audio)])
    for number in 0..<20 {
      file.write(
        Datagram(bytes: rtp(UInt16(number), payload: 9), arrival: Instant(nanoseconds: 0)),
        from: nil,
        at: Int64(number))
    }
    _ = await file.finish()
    let description = try #require(try await play(path).descriptions.elements.first?.first)
    var expected = media
    expected.formatParameters["odd\r\na=key"] = nil
    expected.formatParameters["odda"] = "key=xyz"
    #expect(description == expected)
  }

  /// The sender may go on with any of them (RFC 8866 §5.14).
  @Test func theOtherFormatsOfASectionComeAgainToo() async throws {
    let path = Self.path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    var media = MediaDescription(payloadType: 96, encodingName: "H264", clockRate: 90_000)
    media.otherFormats = [
      MediaDescription(
        payloadType: 97, encodingName: "H264", clockRate: 90_000,
        formatParameters: ["packetization-mode": "1"])
    ]
    let file = try CaptureFile(path: path)
    file.describe([media])
    for number in 0..<20 as Range<UInt16> {
      file.write(
        Datagram(bytes: rtp(number, payload: 9), arrival: Instant(nanoseconds: 0)), from: nil,
        at: Int64(number))
    }
    _ = await file.finish()
    #expect(try await play(path).descriptions.elements == [[media]])
  }

  /// As a camera that breaks off every minute for a day.
  @Test func connectionsWithOneDescriptionShareTheirInterface() async throws {
    let path = Self.path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let media = MediaDescription(payloadType: 96, encodingName: "H264", clockRate: 90_000)
    let file = try CaptureFile(path: path)
    let count = PcapngReader.maximumInterfaces + 100
    for number in 0..<count {
      file.beginConnection()
      file.describe([media])
      file.write(
        Datagram(bytes: rtp(UInt16(number), payload: 9), arrival: Instant(nanoseconds: 0)),
        from: nil, at: Int64(number))
    }
    _ = await file.finish()
    let sink = try await play(path)
    #expect(sink.datagrams.elements.count == count)
    #expect(sink.descriptions.elements == [[media]])
  }

  @Test(
    "retransmissions in a session of their own come again as such",
    arguments: [[:], [97: RetransmissionFormat(original: 96)]])
  func retransmissions(formats: [UInt8: RetransmissionFormat]) async throws {
    let path = Self.path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    var media = MediaDescription(payloadType: 96, encodingName: "H264", clockRate: 90_000)
    media.retransmissionSession = formats
    let file = try CaptureFile(path: path)
    file.describe([media, MediaDescription(kind: .audio)])
    let datagrams = (0..<20 as Range<UInt16>).map { number in
      // More than in any real stream.
      let isAgain = number % 5 == 4
      var bytes = rtp(number, payload: isAgain ? 200 : 9)
      if isAgain, let type = formats.keys.first { bytes.setInteger(type, at: 1) }
      return Datagram(
        bytes: bytes, arrival: Instant(nanoseconds: Int64(number)),
        channel: isAgain ? .retransmission : .media)
    }
    for datagram in datagrams {
      file.write(datagram, from: nil, at: datagram.arrival.nanoseconds)
    }
    _ = await file.finish()
    let sink = try await play(path)
    #expect(sink.datagrams.elements.map(\.bytes) == datagrams.map(\.bytes))
    #expect(sink.datagrams.elements.map(\.channel) == datagrams.map(\.channel))
    #expect(sink.descriptions.elements.first == [media])
  }

  @Test func aFileThatCannotBeWrittenIsSaidAndEndsOnAWholeBlock() async throws {
    let file = try CaptureFile(path: "/dev/full")
    file.beginConnection()
    for number in 0..<20 {
      file.write(
        Datagram(bytes: rtp(UInt16(number)), arrival: Instant(nanoseconds: 0)), from: nil, at: 0)
    }
    let counters = await file.finish()
    #expect(counters.failure == "No space left on device")

    var blocks = ByteBuffer()
    PcapngBlock.writeSection(to: &blocks)
    let first = blocks.readableBytes
    PcapngBlock.writeInterface(comment: nil, to: &blocks)
    let second = blocks.readableBytes
    for count in 0...second {
      let expected = count == second ? second : count >= first ? first : 0
      #expect(CaptureWriting.wholeBlocks(of: blocks, upTo: count) == expected)
    }
  }

  @Test func anOldCaptureIsReplacedByTheFirstPacketAndNotBefore() async throws {
    let path = Self.path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let old = Data(repeating: 7, count: 100_000)
    try old.write(to: URL(fileURLWithPath: path))
    _ = await (try CaptureFile(path: path)).finish()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == old)
    let file = try CaptureFile(path: path)
    file.write(Datagram(bytes: rtp(1), arrival: Instant(nanoseconds: 0)), from: nil, at: 0)
    let counters = await file.finish()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == Int(counters.bytes))
    #expect(counters.bytes < 1000)
    // A capture without packets is still a capture.
    let empty = Self.path()
    defer { try? FileManager.default.removeItem(atPath: empty) }
    #expect(await (try CaptureFile(path: empty)).finish().bytes > 0)
  }

  /// A recording captured again, through a transport that is wrapped.
  @Test func aWrappedTransportDeliversTheSame() async throws {
    let (first, second) = (Self.path(), Self.path())
    defer {
      for path in [first, second] { try? FileManager.default.removeItem(atPath: path) }
    }
    let file = try CaptureFile(path: first)
    file.beginConnection()
    let datagrams = Self.packets(nil)
    for datagram in datagrams {
      file.write(datagram, from: nil, at: datagram.arrival.nanoseconds)
    }
    _ = await file.finish()
    let copy = try CaptureFile(path: second)
    let transport = CapturingTransport(ReplayTransport(path: first, on: eventLoop), to: copy)
    #expect(transport.clock == .recorded)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.ends.first(1)
    _ = await copy.finish()
    #expect(sink.datagrams.elements.map(\.bytes) == datagrams.map(\.bytes))
    let again = try await play(second)
    #expect(again.datagrams.elements.map(\.bytes) == datagrams.map(\.bytes))
    #expect(again.datagrams.elements.map(\.arrival) == datagrams.map(\.arrival))
  }

  @Test(arguments: 0..<200)
  func checksumsAreThoseOfTheRFC(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let bytes = (0..<Int(seed)).map { _ in UInt8.random(in: 0...255, using: &random) }
    var sum = InternetChecksum()
    sum.add(ByteBuffer(bytes: bytes).shifted)
    var expected: UInt32 = 0
    for index in stride(from: 0, to: bytes.count, by: 2) {
      let low = index + 1 < bytes.count ? bytes[index + 1] : 0
      expected += UInt32(bytes[index]) << 8 | UInt32(low)
    }
    while expected > 0xFFFF { expected = expected & 0xFFFF + expected >> 16 }
    #expect(sum.value == ~UInt16(expected))
  }
}
