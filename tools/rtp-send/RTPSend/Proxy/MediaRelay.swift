import NIOCore
import RTPWire

/// The media of one track of an RTSP session over UDP: two sockets on each side of the proxy.
final class MediaRelay {
  /// Those that the client said.
  let ports: (media: Int, control: Int)
  /// Towards the client.
  private let near: [DatagramPort]
  /// Towards the server.
  private let far: [DatagramPort]
  private let client: SocketAddress
  private let driver: PathDriver
  private let paths: ProxyPaths
  /// Where RTSP goes, which sends the media too, unless the answer names another host.
  private let target: SocketAddress
  private var server: SocketAddress?
  /// Where it listens, by channels: as it said, or where its datagrams come from.
  private var listening: [SocketAddress?] = [nil, nil]

  init(
    near: [DatagramPort], far: [DatagramPort], client: SocketAddress, target: SocketAddress,
    ports: (media: Int, control: Int), _ paths: ProxyPaths, client number: Int, track: Int
  ) {
    self.near = near
    self.far = far
    self.client = client
    self.target = target
    self.ports = ports
    self.paths = paths
    driver = paths.open(for: client.with(port: ports.media), client: number, track: track)
    driver.send = { [weak self] in self?.send($0) }
    driver.flush = { [weak self] in
      self?.near.forEach { $0.flush() }
      self?.far.forEach { $0.flush() }
    }
    for channel in 0..<2 {
      near[channel].onDatagram = { [weak self] bytes, origin in
        guard let self, origin.ipAddress == self.client.ipAddress else { return }
        driver.offer(bytes, .toServer, channel: channel)
      }
      far[channel].onDatagram = { [weak self] bytes, origin in
        guard let self, isOfServer(origin) else { return }
        listening[channel] = listening[channel] ?? origin
        driver.offer(bytes, .toClient, channel: channel)
      }
      for port in [near[channel], far[channel]] {
        port.onReadComplete = { [weak self] in self?.driver.run() }
      }
    }
    // Media may come before the answer that says from where.
    driver.isReady = true
  }

  /// When the last datagram came, from either side.
  var lastHeard: Instant { driver.lastHeard }
  var nearPort: Int { near[0].port }
  var farPort: Int { far[0].port }

  /// Says where the server is, and on which ports it listens, if that is known.
  func connect(to address: SocketAddress, _ ports: (media: Int, control: Int)?) {
    server = address
    guard let ports else { return }
    listening = [address.with(port: ports.media), address.with(port: ports.control)]
  }

  /// Servers behind address translation name a host that they do not send from.
  private func isOfServer(_ origin: SocketAddress) -> Bool {
    origin.ipAddress == target.ipAddress || origin.ipAddress == server?.ipAddress
  }

  func close() -> EventLoopFuture<Void> { paths.close(driver, near + far) }

  private func send(_ departure: ProxyPath.Departure) {
    let channel = departure.channel
    switch departure.direction {
    case .toClient:
      let port = channel == 0 ? ports.media : ports.control
      near[channel].write(departure.bytes, to: client.with(port: port))
    case .toServer:
      guard let address = listening[channel] else { return }
      far[channel].write(departure.bytes, to: address)
    }
  }
}

extension SocketAddress {
  fileprivate func with(port: Int) -> SocketAddress {
    var address = self
    address.port = port
    return address
  }
}
