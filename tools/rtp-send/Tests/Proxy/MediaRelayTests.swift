import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RTPSend

/// The datagrams of an RTSP session behind the proxy.
@Suite struct MediaRelayTests {
  /// A relay in front of `server`, which its RTSP server has named or not, or before its answer.
  private func makeRelay(
    for client: SocketAddress, _ server: SocketAddress, isNamed: Bool?
  ) async throws -> (
    relay: NIOLoopBound<MediaRelay>, address: SocketAddress, near: SocketAddress
  ) {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let configuration = Proxy.Configuration(
      listening: try Proxy.Endpoint("rtsp://127.0.0.1:0"),
      target: try Proxy.Endpoint("rtsp://127.0.0.1:554"))
    let host = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
    let target = try SocketAddress(
      ipAddress: isNamed == true ? "192.0.2.1" : "127.0.0.1", port: 554)
    return try await DatagramPort.openPairs(host, host, on: loop).flatMapThrowing { near, far in
      let paths = ProxyPaths(configuration, on: loop.assumeIsolated())
      let port = client.port ?? 0
      let relay = MediaRelay(
        near: near.value, far: far.value, client: client, target: target,
        ports: (port, port + 1), paths, client: 0, track: 0)
      switch isNamed {
      case true?: relay.connect(to: server, (server.port ?? 0, 9))
      case false?: relay.connect(to: target, nil)
      case nil: break
      }
      var (address, near) = (host, host)
      (address.port, near.port) = (relay.farPort, relay.nearPort)
      return (NIOLoopBound(relay, eventLoop: loop), address, near)
    }.get()
  }

  /// Media may come before the answer to SETUP says from where, and that need not say so (RFC 2326
  /// §12.39); what the client sends goes there all the same.
  @Test(arguments: [true, false, nil])
  func onlyTheServersMediaComesToTheClient(isNamed: Bool?) async throws {
    let (client, server) = (try await Client(), try await Client())
    let stranger = try await Client(host: "127.0.0.2")
    let (relay, address, near) = try await makeRelay(
      for: client.address, server.address, isNamed: isNamed)
    stranger.say("forged", to: address)
    try await stranger.flushed()
    server.say("media", to: address)
    #expect(try await client.take(1).map { String(buffer: $0) } == ["media"])
    client.say("punch", to: near)
    #expect(try await server.take(1).map { String(buffer: $0) } == ["punch"])
    try await relay.eventLoop.flatSubmit { relay.value.close() }.get()
    for peer in [client, server, stranger] { await peer.close() }
  }
}
