import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// A client whose server has several addresses, of which not all answer.
struct UDPAttemptsTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  /// The tracks of a client, as its transport has them.
  private final class Client: Sendable {
    let sink = RecordingSink()
    private let eventLoop: any EventLoop
    private let tracks: NIOLoopBound<UDPTracks>

    init(
      of servers: [SocketAddress], sockets: UDPTransport.SocketConfiguration = .init(),
      on eventLoop: any EventLoop
    ) async throws {
      let plan = UDPPlan(servers: servers, local: nil, payloads: .init(), sockets: sockets)
      self.eventLoop = eventLoop
      let sink = self.sink
      tracks = try await eventLoop.submit {
        NIOLoopBound(
          try UDPTracks([plan], required: 0, on: eventLoop, delivering: sink), eventLoop: eventLoop)
      }.get()
      try await eventLoop.flatSubmit { [tracks] in tracks.value.start() }.get()
    }

    func counters() async throws -> TransportCounters {
      try await eventLoop.submit { [tracks] in tracks.value.counters }.get()
    }

    func close() async throws {
      try await eventLoop.submit { [tracks] in tracks.value.end(.closed) }.get()
      _ = try await sink.ends.first(1)
    }
  }

  /// Addresses of a name, and which of them the server is at.
  static let names: [(addresses: [String], server: String)] = [
    (["::1", "127.0.0.1"], "127.0.0.1"), (["::1", "127.0.0.1"], "::1"),
    (["127.0.0.1", "::1"], "::1"), (["127.0.0.1", "127.0.0.2", "127.0.0.3"], "127.0.0.3"),
  ]

  @Test("the address that answers is the one that stays", arguments: names, [0, 1])
  func theOneThatAnswersStays(name: (addresses: [String], server: String), bind: Int) async throws {
    let server = try await FarEnd(name.server)
    var sockets = UDPTransport.SocketConfiguration()
    if bind > 0 {
      // A port that was free just now; one for each family can be bound.
      guard name.addresses.contains("::1") else { return }
      let probe = try await FarEnd()
      sockets.bind = UDPTransport.LocalAddress(host: nil, port: probe.port)
      try await probe.close()
    }
    let client = try await Client(
      of: name.addresses.map { endpoint($0, server.port) }, sockets: sockets, on: eventLoop)
    let hello = try await server.received.first(1)[0]
    try await server.send(rtp(1), rtp(2), to: hello.origin)
    #expect(try await client.sink.datagrams.first(2).allSatisfy { $0.origin == server.address })
    let counters = try await client.counters()
    #expect(counters.localAddress?.hasSuffix(":\(hello.origin.port ?? 0)") == true)
    #expect(counters.delivered == 2)
    #expect(counters.hellosSent >= UInt64(name.addresses.firstIndex(of: name.server) ?? 0))
    try await client.close()
    try await server.close()
  }

  @Test func whoAnswersSecondIsNotHeard() async throws {
    let first = try await FarEnd("::1")
    let second = try await FarEnd("127.0.0.1", port: first.port)
    let client = try await Client(of: [first.address, second.address], on: eventLoop)
    // Both are silent, so both are asked, one after the other.
    let origins = [
      try await first.received.first(1)[0].origin, try await second.received.first(1)[0].origin,
    ]
    try await second.send(rtp(1), to: origins[1])
    _ = try await client.sink.datagrams.first(1)
    // Nobody takes this any more, which its sender's own kernel says; the other one goes on.
    _ = try await first.trySend(rtp(100), to: origins[0])
    try await second.send(rtp(2), to: origins[1])
    let datagrams = try await client.sink.datagrams.first(2)
    #expect(datagrams.map(\.bytes) == [rtp(1), rtp(2)])
    // From now on hellos and heartbeats go to the one alone.
    let count = first.received.elements.count
    _ = try await second.received.first(second.received.elements.count + 1)
    #expect(first.received.elements.count == count)
    try await client.close()
    for end in [first, second] { try await end.close() }
  }

  @Test func aServerThatBeginsLateIsFoundAtEitherAddress() async throws {
    let probe = try await FarEnd("127.0.0.1")
    try await probe.close()
    let client = try await Client(
      of: [endpoint("::1", probe.port), endpoint("127.0.0.1", probe.port)], on: eventLoop)
    let server = try await FarEnd("::1", port: probe.port)
    let hello = try await server.received.first(1)[0]
    try await server.send(rtp(1), to: hello.origin)
    _ = try await client.sink.datagrams.first(1)
    try await client.close()
    try await server.close()
  }

  @Test func anAddressThatCannotBeReceivedFromIsTheEndWhenItIsTheLast() async throws {
    let server = try await FarEnd()
    let sink = RecordingSink()
    let address = server.address
    let client = try await eventLoop.submit { [eventLoop] in
      let sockets = try (0..<2).map { _ in try DatagramSocket.bound(to: endpoint("127.0.0.1", 0)) }
      // Nobody else can wait for the second one's socket now (epoll(7)).
      let wait = try sockets[1].waitUntilReady(on: eventLoop)
      var receivers: [UDPReceiver] = []
      let attempts = try UDPAttempts(
        at: [address, address], on: eventLoop, delivering: sink
      ) { (server, relay) throws(TransportError) in
        let receiver = UDPReceiver(
          ports: UDPReceiver.Ports(media: sockets[receivers.count], receiveBuffer: 0),
          expecting: .peer(server),
          hello: UDPReceiver.Hello(
            server: server, payloads: .init(),
            schedule: HelloSchedule(start: Instant(NIODeadline.now()), interval: .seconds(3))),
          on: eventLoop, delivering: relay)
        receivers.append(receiver)
        return receiver
      }
      return NIOLoopBound((attempts, receivers, wait), eventLoop: eventLoop)
    }.get()
    try await eventLoop.submit {
      let (attempts, receivers, wait) = client.value
      _ = attempts.start()
      receivers[0].end(.failed(TransportError.nothingToReceive))
      SocketReadiness.shared.cancel(wait)
    }.get()
    guard case .failed(TransportError.system) = try await sink.ends.first(1)[0] else {
      Issue.record("the end was \(sink.ends.elements)")
      return
    }
    try await server.close()
  }

  @Test(arguments: [
    (["::1", "::2", "127.0.0.1", "::2"], ["::1", "127.0.0.1", "::2"]),
    (["127.0.0.1", "127.0.0.2", "::1"], ["127.0.0.1", "::1", "127.0.0.2"]),
    (["127.0.0.1"], ["127.0.0.1"]), ([], []),
  ])
  func familiesTakeTurns(addresses: [String], expected: [String]) {
    #expect(
      HostResolution.inTurn(addresses.map { endpoint($0, 1) }).map(\.ipAddress) == expected)
  }
}
