import BlockingIO
import NIOCore
import NIOPosix
import RTPWire

/// Forwards datagrams of any client to one far end, and what comes back, RTP and the port above for
/// RTCP.
///
/// Each client has sockets of its own towards the far end, so that this can tell them apart, and
/// sees everything come from the port that it sends to.
final class UDPProxy: ProxyService {
  /// More are ignored, so that nobody can take all descriptors.
  private static let mostClients = 256
  /// How long a client may be silent in both directions.
  private static let patience: Int64 = 60_000_000_000

  private let target: SocketAddress
  private let listeners: [DatagramPort]
  private let paths: ProxyPaths
  private var clients: [SocketAddress: Client] = [:]
  private var isOver = false

  private final class Client {
    let driver: PathDriver
    /// Towards the far end.
    var ports: [DatagramPort] = []

    init(_ driver: PathDriver) { self.driver = driver }
  }

  static func open(
    at address: SocketAddress, to target: SocketAddress, _ paths: ProxyPaths, on loop: any EventLoop
  ) -> EventLoopFuture<Proxy> {
    let paths = NIOLoopBound(paths, eventLoop: loop)
    let ports =
      address.port == 0
      ? DatagramPort.openPair(address, on: loop) : DatagramPort.openWithNext(address, on: loop)
    return ports.flatMapThrowing { ports in
      let listeners = ports.value
      guard let local = listeners.first?.channel?.localAddress else {
        throw ChannelError.ioOnClosedChannel
      }
      let proxy = UDPProxy(listeners, to: target, paths.value)
      return Proxy(proxy, at: local, on: loop)
    }
  }

  private init(_ listeners: [DatagramPort], to target: SocketAddress, _ paths: ProxyPaths) {
    self.listeners = listeners
    self.target = target
    self.paths = paths
    for (channel, listener) in listeners.enumerated() {
      listener.onDatagram = { [weak self] bytes, origin in
        self?.take(bytes, from: origin, channel: channel)
      }
      listener.onReadComplete = { [weak self] in self?.runAll() }
    }
  }

  func end() -> EventLoopFuture<ProxyReport> {
    isOver = true
    let ends = clients.values.map { paths.close($0.driver, $0.ports) } + [paths.count(listeners)]
    clients.removeAll()
    return paths.report(after: ends)
  }

  private func take(_ bytes: ByteBuffer, from origin: SocketAddress, channel: Int) {
    guard !isOver else { return }
    // The media and the RTCP of a client come from neighbouring ports, or from one each.
    let key = origin.above(-channel)
    guard let client = clients[key] ?? admit(key) else { return }
    client.driver.offer(bytes, .toServer, channel: channel)
  }

  private func runAll() {
    for client in clients.values { client.driver.run() }
  }

  private func admit(_ address: SocketAddress) -> Client? {
    forgetSilent()
    guard clients.count < Self.mostClients else { return nil }
    let client = Client(paths.open(for: address, client: paths.admit()))
    clients[address] = client
    client.driver.send = { [weak self, weak client] departure in
      guard let self, let client, listeners.indices.contains(departure.channel) else { return }
      switch departure.direction {
      case .toServer:
        client.ports[departure.channel].write(
          departure.bytes, to: target.above(departure.channel))
      case .toClient:
        listeners[departure.channel].write(
          departure.bytes, to: address.above(departure.channel))
      }
    }
    client.driver.flush = { [weak self, weak client] in
      client?.ports.forEach { $0.flush() }
      self?.listeners.forEach { $0.flush() }
    }
    guard
      let any = try? SocketAddress(
        ipAddress: target.protocol == .inet6 ? "::" : "0.0.0.0", port: 0)
    else { return client }
    DatagramPort.openPair(any, on: paths.loop.nonisolated()).assumeIsolated().whenComplete {
      switch $0 {
      case .success(let ports): self.connect(client, ports.value)
      case .failure: self.forget(address, client)
      }
    }
    return client
  }

  private func connect(_ client: Client, _ ports: [DatagramPort]) {
    guard !isOver else { return ports.forEach { $0.close() } }
    client.ports = ports
    for (channel, port) in ports.enumerated() {
      port.onDatagram = { [weak self, weak client] bytes, origin in
        guard origin.ipAddress == self?.target.ipAddress else { return }
        client?.driver.offer(bytes, .toClient, channel: channel)
      }
      port.onReadComplete = { [weak client] in client?.driver.run() }
    }
    client.driver.isReady = true
  }

  private func forget(_ address: SocketAddress, _ client: Client) {
    guard clients.removeValue(forKey: address) != nil else { return }
    _ = paths.close(client.driver, client.ports)
  }

  private func forgetSilent() {
    let now = Instant.now
    for (address, client) in clients
    where client.driver.lastHeard.nanoseconds(to: now) > Self.patience {
      forget(address, client)
    }
  }
}
