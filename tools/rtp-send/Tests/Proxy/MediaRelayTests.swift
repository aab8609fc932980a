import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RTPSend

/// The datagrams of an RTSP session behind the proxy.
@Suite struct MediaRelayTests {
  /// A relay in front of `server`, which its RTSP server may have named.
  private func makeRelay(
    for client: SocketAddress, _ server: SocketAddress, isNamed: Bool
  ) async throws -> (relay: NIOLoopBound<MediaRelay>, address: SocketAddress) {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let configuration = Proxy.Configuration(
      listening: try Proxy.Endpoint("rtsp://127.0.0.1:0"),
      target: try Proxy.Endpoint("rtsp://127.0.0.1:554"))
    let host = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
    let target = try SocketAddress(ipAddress: isNamed ? "192.0.2.1" : "127.0.0.1", port: 554)
    return try await DatagramPort.openPair(host, on: loop).and(
      DatagramPort.openPair(host, on: loop)
    ).flatMapThrowing { near, far in
      let paths = ProxyPaths(configuration, on: loop.assumeIsolated())
      let port = client.port ?? 0
      let relay = MediaRelay(
        near: near.value, far: far.value, client: client, target: target,
        ports: (port, port + 1), paths, client: 0, track: 0)
      if isNamed { relay.connect(to: server, media: server.port ?? 0, control: 9) }
      var address = host
      address.port = relay.farPort
      return (NIOLoopBound(relay, eventLoop: loop), address)
    }.get()
  }

  /// Media may come before the answer to SETUP says from where.
  @Test(arguments: [true, false])
  func onlyTheServersMediaComesToTheClient(isNamed: Bool) async throws {
    let (client, server) = (try await Client(), try await Client())
    let stranger = try await Client(host: "127.0.0.2")
    let (relay, address) = try await makeRelay(
      for: client.address, server.address, isNamed: isNamed)
    stranger.say("forged", to: address)
    try await stranger.flushed()
    server.say("media", to: address)
    #expect(try await client.take(1).map { String(buffer: $0) } == ["media"])
    try await relay.eventLoop.flatSubmit { relay.value.close() }.get()
    for peer in [client, server, stranger] { await peer.close() }
  }
}
