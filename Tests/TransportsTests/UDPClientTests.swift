import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// A client of the hello protocol against servers on this machine.
struct UDPClientTests {
  private func client(
    of port: Int, host: String = "127.0.0.1",
    hello: UDPTransport.HelloConfiguration = .init(),
    sockets: UDPTransport.SocketConfiguration = .init()
  ) -> UDPTransport {
    UDPTransport(
      role: .client(host: host, port: port, hello), sockets: sockets,
      on: MultiThreadedEventLoopGroup.singleton.next())
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1"), ("localhost", "::1"),
  ])
  func helloComesFromThePortThatMediaIsReceivedOn(host: String, address: String) async throws {
    let server = try await FarEnd(address)
    let transport = client(of: server.port, host: host)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    #expect(sink.descriptions.elements.isEmpty)
    let hello = try await server.received.first(1)[0]
    #expect(String(buffer: hello.bytes) == "Hello")
    #expect(try await transport.localAddress()?.port == hello.origin.port)

    try await server.send(rtp(1, payload: 100), rtp(2, payload: 100), to: hello.origin)
    let datagrams = try await sink.datagrams.first(2)
    #expect(datagrams.map(\.bytes) == [rtp(1, payload: 100), rtp(2, payload: 100)])
    #expect(datagrams.allSatisfy { $0.channel == .media && $0.origin == server.address })
    let counters = await transport.counters()
    #expect(counters.delivered == 2)
    #expect(counters.deliveredBytes == 224)
    #expect(counters.hellosSent >= 1)
    #expect(counters.receiveBuffer > 0)
    transport.close()
    _ = try await sink.ends.first(1)
    try await server.close()
  }

  @Test func helloIsRepeatedUntilMediaComesAndTheHeartbeatGoesOn() async throws {
    let server = try await FarEnd()
    var hello = UDPTransport.HelloConfiguration()
    hello.hello = ByteBuffer(bytes: [0, 1, 2, 255])
    hello.heartbeat = ByteBuffer(string: "alive")
    hello.interval = .seconds(1)
    let transport = client(of: server.port, hello: hello)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    // How they are spaced is the schedule's own test; here they must come.
    try await transport.counters { $0.hellosSent >= 3 }
    let origin = try await server.received.first(3)[0].origin
    try await server.send(rtp(1), to: origin)
    _ = try await sink.datagrams.first(1)
    let before = await transport.counters()
    let after = try await transport.counters { $0.heartbeatsSent >= before.heartbeatsSent + 2 }
    #expect(after.hellosSent == before.hellosSent)
    let all = try await server.received.first(Int(after.hellosSent + after.heartbeatsSent))
    #expect(all.filter { $0.bytes == hello.hello }.count == Int(after.hellosSent))
    #expect(all.filter { $0.bytes == hello.heartbeat }.count == Int(after.heartbeatsSent))
    #expect(all.allSatisfy { $0.origin == origin })
    transport.close()
    try await server.close()
  }

  /// A wait that ends in a look at the clock or the socket would show as a wake-up of the loop's
  /// thread.
  @Test func aClientWhoseServerSaysNothingSleeps() async throws {
    let server = try await FarEnd()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = group.next()
    let thread = try await loop.submit {
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    }.get()
    func wakeUps() throws -> Int {
      let status = try String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("voluntary") })
      return try #require(line.split(separator: "\t").last.flatMap { Int($0) })
    }
    let transport = UDPTransport(role: .client(host: "127.0.0.1", port: server.port), on: loop)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    // There are four seconds, and thus a heartbeat, between the fifth hello and the sixth.
    _ = try await server.received.first(6)
    let before = try wakeUps()
    _ = try await server.received.first(7)
    #expect(try wakeUps() - before < 12)
    transport.close()
    _ = try await sink.ends.first(1)
    try await server.close()
    try await group.shutdownGracefully()
  }

  @Test func datagramsOfEverySizeComeWholeAndInOrder() async throws {
    let server = try await FarEnd()
    let transport = client(of: server.port)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    let sizes = [0, 1, 2, 3, 100, 1388, 1460, 1488, 8988, 16_000, 32_768, 65_000, 65_495]
    var sent: [ByteBuffer] = []
    for (index, size) in (sizes + sizes.reversed()).enumerated() {
      let packet = rtp(UInt16(index), payload: size)
      sent.append(packet)
      try await server.send(packet, to: origin)
    }
    let datagrams = try await sink.datagrams.first(sent.count)
    #expect(datagrams.map(\.bytes) == sent)
    let arrivals = datagrams.map(\.arrival)
    #expect(arrivals == arrivals.sorted())
    transport.close()
    try await server.close()
  }

  @Test func whatOthersSendBeforeDuringAndAfterIsNotDelivered() async throws {
    let server = try await FarEnd()
    let stranger = try await FarEnd("127.0.0.2")
    let neighbour = try await FarEnd()
    let transport = client(of: server.port)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin

    try await stranger.send(rtp(1), rtp(2), rtp(3), ByteBuffer(), to: origin)
    try await transport.counters { $0.foreignOrigin == 3 && $0.empty == 1 }
    for number in 1..<20 as Range<UInt16> {
      try await server.send(rtp(number), to: origin)
      _ = try await sink.datagrams.first(Int(number))
      try await stranger.send(rtp(number + 1), rtp(number + 2), to: origin)
      try await neighbour.send(rtp(number + 1), rtp(number + 2), to: origin)
    }
    let counters = try await transport.counters { $0.foreignOrigin == 3 + 19 * 4 }
    #expect(counters.delivered == 19)
    #expect(sink.datagrams.elements.allSatisfy { $0.origin == server.address })
    // Nothing was said to anyone but the server.
    #expect(stranger.received.elements.isEmpty)
    #expect(neighbour.received.elements.isEmpty)
    transport.close()
    for end in [server, stranger, neighbour] { try await end.close() }
  }

  @Test func aFloodOfSpoofedPacketsIsNotAnswered() async throws {
    let server = try await FarEnd()
    let stranger = try await FarEnd("127.0.0.2")
    let transport = client(of: server.port)
    _ = try await transport.open(delivering: RecordingSink())
    let origin = try await server.received.first(1)[0].origin
    for number in 0..<10_000 as Range<UInt16> {
      try await stranger.send(rtp(number), to: origin)
    }
    let counters = try await transport.counters { $0.foreignOrigin + $0.kernelDropped == 10_000 }
    #expect(counters.delivered == 0)
    #expect(counters.hellosSent + counters.heartbeatsSent < 30)
    #expect(stranger.received.elements.isEmpty)
    transport.close()
    try await server.close()
    try await stranger.close()
  }

  @Test func aServerThatAnswersFromAnotherPortIsReceived() async throws {
    let server = try await FarEnd()
    let streamer = try await FarEnd()
    let transport = client(of: server.port)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    try await streamer.send(rtp(65_535), rtp(0), rtp(1), to: origin)
    #expect(try await sink.datagrams.first(3).map(\.bytes) == [rtp(65_535), rtp(0), rtp(1)])
    transport.close()
    try await server.close()
    try await streamer.close()
  }

  @Test func aServerThatIsGivenANewPortIsFollowedAfterASilence() async throws {
    let server = try await FarEnd()
    let moved = try await FarEnd()
    let transport = client(of: server.port)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    try await server.send(rtp(1), to: origin)
    _ = try await sink.datagrams.first(1)
    var number: UInt16 = 2
    try await eventually("the new port is followed") {
      try await moved.send(rtp(number), to: origin)
      number += 1
      return sink.datagrams.elements.count >= 3
    }
    #expect(await transport.counters().rebindings == 1)
    transport.close()
    try await server.close()
    try await moved.close()
  }

  @Test(arguments: ["127.0.0.5", "::1"])
  func aServerThatIsNotThereYetIsCountedAndThenReceived(host: String) async throws {
    // Of addresses that hardly any other test takes ports of, so that the one given up stays free.
    let vacant = try await FarEnd(host)
    let port = vacant.port
    try await vacant.close()
    let transport = client(of: port, host: host)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    try await transport.counters { $0.refused >= 2 }
    let late = try await FarEnd(host, port: port)
    let origin = try await late.received.first(1)[0].origin
    try await late.send(rtp(1), to: origin)
    #expect(try await sink.datagrams.first(1)[0].bytes == rtp(1))
    #expect(sink.ends.elements.isEmpty)
    transport.close()
    try await late.close()
  }

  @Test func aClientSpeaksFromTheAddressAndPortItIsBoundTo() async throws {
    let server = try await FarEnd()
    let vacant = try await FarEnd("127.0.0.3")
    var sockets = UDPTransport.SocketConfiguration()
    sockets.bind = .init(host: "127.0.0.3", port: vacant.port)
    let transport = client(of: server.port, sockets: sockets)
    await #expect(throws: TransportError.portInUse(address: "127.0.0.3:\(vacant.port)")) {
      try await transport.open(delivering: RecordingSink())
    }
    try await vacant.close()
    let second = client(of: server.port, sockets: sockets)
    _ = try await second.open(delivering: RecordingSink())
    #expect(try await server.received.first(1)[0].origin == vacant.address)
    second.close()
    try await server.close()
  }

  @Test func whatAServerSendsWithoutRTPIsCountedAndNamed() async throws {
    let server = try await FarEnd()
    let transport = client(of: server.port)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    let packet = ByteBuffer(bytes: [0x47] + [UInt8](repeating: 0xFF, count: 187) + [0x47])
    for _ in 0..<3 { try await server.send(packet, to: origin) }
    let counters = try await transport.counters { $0.notRTP == 3 }
    #expect(counters.diagnostics.contains { $0.words.contains("MPEG-TS") })
    #expect(counters.delivered == 0)
    try await server.send(rtp(1), to: origin)
    #expect(try await sink.datagrams.first(1).map(\.bytes) == [rtp(1)])
    #expect(try await transport.counters { $0.delivered == 1 }.notRTP == 3)
    transport.close()
    try await server.close()
  }

  @Test func payloadsBeyondTheLimitAreRefused() async throws {
    var hello = UDPTransport.HelloConfiguration()
    hello.heartbeat = ByteBuffer(repeating: 1, count: 65)
    let transport = client(of: 9, hello: hello)
    await #expect(throws: TransportError.payloadTooLong(count: 65, limit: 64)) {
      try await transport.open(delivering: RecordingSink())
    }
  }

  @Test func feedbackGoesToTheServerFromTheSamePort() async throws {
    let server = try await FarEnd()
    var hello = UDPTransport.HelloConfiguration()
    hello.interval = .seconds(1000)
    let transport = client(of: server.port, hello: hello)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    transport.sendFeedback(ByteBuffer(string: "too early"), track: 0)
    try await server.send(rtp(1), to: origin)
    _ = try await sink.datagrams.first(1)
    transport.sendFeedback(senderReport(), track: 0)
    try await eventually("the report comes") {
      server.received.elements.contains { $0.bytes == senderReport() }
    }
    #expect(server.received.elements.allSatisfy { $0.origin == origin })
    #expect(!server.received.elements.contains { String(buffer: $0.bytes) == "too early" })
    transport.close()
    try await server.close()
  }

  /// Its source has died, but not the program that sends reports on the same port.
  @Test func aServerWhoseReportsAloneGoOnIsGreetedAgain() async throws {
    let server = try await FarEnd()
    var hello = UDPTransport.HelloConfiguration()
    hello.interval = .seconds(1000)
    let transport = client(of: server.port, hello: hello)
    let sink = RecordingSink()
    _ = try await transport.open(delivering: sink)
    let origin = try await server.received.first(1)[0].origin
    try await server.send(rtp(1), to: origin)
    _ = try await sink.datagrams.first(1)
    let before = await transport.counters().hellosSent
    // A report a moment before each look: in the seconds in which hellos are held back, and after.
    let deadline = ContinuousClock.now + .seconds(30)
    while await transport.counters().hellosSent == before, ContinuousClock.now < deadline {
      let count = sink.datagrams.elements.count
      try await server.send(senderReport(), to: origin)
      try await eventually("the report comes") { sink.datagrams.elements.count > count }
    }
    #expect(await transport.counters().hellosSent > before)
    transport.close()
    try await server.close()
  }

  @Test func everyDatagramOfABurstIsDeliveredOrCountedAsDroppedByTheKernel() async throws {
    let server = try await FarEnd()
    var sockets = UDPTransport.SocketConfiguration()
    sockets.receiveBuffer = 16 << 10
    let transport = client(of: server.port, sockets: sockets)
    _ = try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    let origin = try await server.received.first(1)[0].origin
    #expect(await transport.counters().receiveBuffer < 64 << 10)
    try await server.sendBurst(of: 100_000, to: origin)
    let counters = try await transport.counters { $0.delivered + $0.kernelDropped == 100_000 }
    #expect(counters.kernelDropped > 0)
    #expect(counters.delivered > 0)
    transport.close()
    let last = await transport.counters()
    #expect(last.delivered + last.kernelDropped == 100_000)
    try await server.close()
  }
}
