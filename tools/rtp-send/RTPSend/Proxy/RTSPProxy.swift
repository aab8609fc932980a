import NIOCore
import NIOPosix

/// Listens for RTSP clients, each of which gets a connection to the server of its own.
final class RTSPProxy: ProxyService {
  private let listener: any Channel
  private let paths: ProxyPaths
  private var relays: [ObjectIdentifier: RTSPRelay] = [:]
  private var isOver = false

  static func open(
    at address: SocketAddress, to target: SocketAddress, _ paths: ProxyPaths, on loop: any EventLoop
  ) -> EventLoopFuture<Proxy> {
    let arrivals = NIOLoopBoundBox<(any Channel) -> Void>({ _ in }, eventLoop: loop)
    let paths = NIOLoopBound(paths, eventLoop: loop)
    return ServerBootstrap(group: loop)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      // Nothing is read before the server has accepted.
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { channel in
        // It has its addresses once it is registered.
        channel.eventLoop.execute { arrivals.value(channel) }
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      .bind(to: address)
      .flatMapErrorThrowing { throw SendError.cannotListen(at: address, $0) }
      .flatMapThrowing { listener in
        let proxy = RTSPProxy(listener, paths.value)
        arrivals.value = { [weak proxy] in proxy?.admit($0, target) }
        return Proxy(proxy, at: listener.localAddress ?? address, on: loop)
      }
  }

  private init(_ listener: any Channel, _ paths: ProxyPaths) {
    self.listener = listener
    self.paths = paths
  }

  func end() -> EventLoopFuture<ProxyReport> {
    isOver = true
    listener.close(promise: nil)
    return paths.report(after: relays.values.map { $0.end() })
  }

  private func admit(_ client: any Channel, _ target: SocketAddress) {
    let limits = paths.configuration.limits
    let host = client.remoteAddress?.ipAddress ?? ""
    guard !isOver, relays.count < limits.clients,
      relays.values.count(where: { $0.host == host }) < limits.clientsOfOneAddress
    else { return client.close(promise: nil) }
    let relay = RTSPRelay(client, of: host, to: target, paths)
    relays[ObjectIdentifier(relay)] = relay
    relay.mayOpenTrack = { [weak self] in
      let taken = self?.relays.values.reduce(0) { $0 + ($1.host == host ? $1.openTracks : 0) }
      return taken ?? 0 < limits.tracksOfOneAddress
    }
    relay.onEnd = { [weak self] relay in self?.relays[ObjectIdentifier(relay)] = nil }
    relay.begin()
  }
}
