internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Opens TCP connections to a server.
///
/// It has only the deadlines of the resolver and of SwiftNIO, because the session has one for
/// everything; to give up, close what ``Attempts`` holds.
struct TCPConnector {
  private(set) var host: String
  let port: Int
  let sockets: UDPTransport.SocketConfiguration
  let eventLoop: any EventLoop

  /// The state of an attempt.
  enum Phase: Sendable, Hashable {
    case resolving
    case connecting
  }

  /// The sockets being connected.
  final class Attempts {
    private(set) var phase = Phase.resolving
    private var channels: [any Channel] = []
    private var isAbandoned = false

    fileprivate func begin() { phase = .connecting }

    fileprivate func add(_ channel: any Channel) {
      channels.append(channel)
      if isAbandoned { channel.close(promise: nil) }
    }

    /// Closes them all, including later ones.
    func abandon() {
      isAbandoned = true
      for channel in channels { channel.close(promise: nil) }
      channels.removeAll()
    }

    /// Releases all; they are closed except for the one that won.
    fileprivate func settle() { channels.removeAll() }
  }

  /// The same for the machine at `address`, which `host` led to.
  func toward(_ address: SocketAddress?) -> TCPConnector {
    guard let number = address?.ipAddress else { return self }
    var connector = self
    // The zone of a link-local address is not part of it.
    connector.host = number + (number.contains("%") ? "" : host.drop { $0 != "%" })
    return connector
  }

  /// Connects to the first of the host's addresses that answers, trying IPv6 slightly before IPv4.
  ///
  /// RFC 8305 calls this happy eyeballs. The channel does not read until told to.
  func connect(
    _ attempts: Attempts, initializer: @escaping @Sendable (any Channel) throws -> Void
  ) -> EventLoopFuture<any Channel> {
    let bound = NIOLoopBound(attempts, eventLoop: eventLoop)
    return HostResolution.addresses(
      of: host, port: port, zone: sockets.interface, on: eventLoop
    ).and(localAddress).flatMap { [host, port, sockets, eventLoop] addresses, local in
      bound.value.begin()
      var bootstrap = ClientBootstrap(group: eventLoop)
        .channelOption(.autoRead, value: false)
        .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.read))
        .channelOption(.socketOption(.so_keepalive), value: 1)
        .channelOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: Self.keepAliveAfter)
        .channelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: Self.keepAliveInterval)
        .channelOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: Self.userTimeout)
        .resolver(KnownAddresses(addresses: addresses, eventLoop: eventLoop))
        .channelInitializer { channel in
          Self.bind(channel, toInterface: sockets.interface).flatMapThrowing {
            bound.value.add(channel)
            try initializer(channel)
          }
        }
      if let local { bootstrap = bootstrap.bind(to: local) }
      return bootstrap.connect(host: host, port: port)
        .always { _ in bound.value.settle() }
        .flatMapErrorThrowing { throw Self.reason(for: $0) }
    }
  }

  /// The requested local address; its port is only for media.
  private var localAddress: EventLoopFuture<SocketAddress?> {
    guard let host = sockets.bind?.host else { return eventLoop.makeSucceededFuture(nil) }
    return HostResolution.addresses(of: host, port: 0, zone: sockets.interface, on: eventLoop)
      .map(\.first)
  }

  private static func bind(
    _ channel: any Channel, toInterface name: String?
  ) -> EventLoopFuture<Void> {
    guard let name else { return channel.eventLoop.makeSucceededVoidFuture() }
    return channel.eventLoop.makeCompletedFuture {
      _ = try DatagramSocket.interfaceIndex(named: name)
    }.flatMap {
      guard let socket = channel as? any SocketOptionProvider else {
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      var bytes = InlineArray<16, UInt8>(repeating: 0)
      for (index, byte) in name.utf8.prefix(15).enumerated() { bytes[index] = byte }
      return socket.unsafeSetSocketOption(
        level: SocketOptionLevel(SOL_SOCKET), name: SO_BINDTODEVICE, value: bytes
      ).flatMapErrorThrowing { _ in
        throw TransportError.interfaceNotPermitted(operation: "connect over one interface alone")
      }
    }
  }

  private static func reason(for error: any Error) -> any Error {
    guard let error = error as? NIOConnectionError else { return error }
    // SwiftNIO begins with IPv6, so the last failure is the one most people expect.
    let failures = error.connectionErrors.reversed().compactMap { failure in
      (failure.error as? IOError).map { (failure.target, $0.errnoCode) }
    }
    let refused = failures.first { $0.1 == ECONNREFUSED }
    // What is no system call's failure says by itself what is wrong, as a missing interface does.
    guard let (address, code) = refused ?? failures.first else {
      return error.connectionErrors.last?.error ?? error
    }
    let endpoint = address.endpoint
    if code == ECONNREFUSED { return TransportError.connectionRefused(address: endpoint) }
    if code == EINVAL, address.isLinkLocal, address.zone == 0 {
      return TransportError.linkNotNamed(address: endpoint)
    }
    if code == EADDRNOTAVAIL {
      return TransportError.system(
        operation: "connect from the address to bind",
        reason: unsafe String(cString: strerror(code)))
    }
    return TransportError.notConnected(
      address: endpoint, reason: unsafe String(cString: strerror(code)))
  }

  /// Bytes per read: 46 interleaved packets of 1,400 bytes, few enough for the caches.
  static let read = 64 << 10
  /// Seconds of silence before the kernel checks whether the far end is still there.
  private static let keepAliveAfter = 5
  private static let keepAliveInterval = 2
  /// Milliseconds that sent data may stay unacknowledged before the connection counts as dead.
  private static let userTimeout = 10_000
}

/// Known addresses, for SwiftNIO to try in turn.
private struct KnownAddresses: Resolver {
  let addresses: [SocketAddress]
  let eventLoop: any EventLoop

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    eventLoop.makeSucceededFuture(addresses.filter { $0.family == .v4 })
  }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    eventLoop.makeSucceededFuture(addresses.filter { $0.family == .v6 })
  }

  func cancelQueries() {}
}
