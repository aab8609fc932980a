import BlockingIO
internal import NIOCore
internal import RTPWire

/// A role's addresses, with names resolved, and the sockets made from them.
struct UDPPlan: Sendable {
  /// How many ports are tried until the neighbouring ones are free too.
  private static let maximumAttempts = 16
  /// The most addresses of a server that get a hello: some of either family.
  static let maximumServers = 4

  private let sockets: UDPTransport.SocketConfiguration
  private let purpose: Purpose

  private enum Purpose {
    /// All addresses of the server, in the order in which to try them. Without a local address, any
    /// of this machine is used.
    case client(
      servers: [SocketAddress], local: SocketAddress?, payloads: UDPTransport.HelloConfiguration)
    /// Without a local address: every address of both families, on the listening's port.
    case unicast(local: SocketAddress?, sources: [SocketAddress], UDPTransport.Listening)
    /// With a local address, the group is joined by its interface.
    case multicast(
      group: SocketAddress, local: SocketAddress?, sources: [SocketAddress], UDPTransport.Listening)
  }

  init(
    role: UDPTransport.Role, sockets: UDPTransport.SocketConfiguration, on eventLoop: any EventLoop
  ) async throws {
    func resolve(_ host: String, port: Int) async throws -> SocketAddress {
      try await HostResolution.resolve(
        host, port: port, zone: sockets.interface, on: eventLoop)
    }
    self.sockets = sockets
    switch role {
    case .client(let host, let port, let payloads):
      for payload in [payloads.hello, payloads.heartbeat]
      where payload.readableBytes > HelloSchedule.maximumPayload {
        throw TransportError.payloadTooLong(
          count: payload.readableBytes, limit: HelloSchedule.maximumPayload)
      }
      let servers = try await HostResolution.addresses(
        of: host, port: port, zone: sockets.interface, on: eventLoop
      ).get()
      var local: SocketAddress?
      if let bind = sockets.bind, let host = bind.host {
        local = try await resolve(host, port: bind.port)
      }
      purpose = Self.purpose(
        greeting: servers, from: local, port: sockets.bind?.port ?? 0, payloads)
    case .listener(var listening):
      var host = listening.host
      var address: SocketAddress?
      if let host { address = try await resolve(host, port: listening.port) }
      var sources: [SocketAddress] = []
      for name in (listening.senders?.hosts ?? []).prefix(UDPTransport.maximumSources) {
        sources.append(try await resolve(name, port: 0))
      }
      if let address, address.isMulticast {
        var local: SocketAddress?
        if let bind = sockets.bind {
          if let host = bind.host { local = try await resolve(host, port: bind.port) }
          // Nobody sends to a port that the kernel chooses.
          if bind.port > 0 { listening.port = bind.port }
        }
        purpose = .multicast(group: address, local: local, sources: sources, listening)
        return
      }
      if let bind = sockets.bind {
        host = bind.host ?? host
        listening.port = bind.port
        if let host { address = try await resolve(host, port: bind.port) }
      }
      purpose = .unicast(local: address, sources: sources, listening)
    case .listeners: throw TransportError.nothingToReceive
    }
  }

  /// A plan that says hello to each of `servers`, from `local` or from any address of this machine.
  init(
    servers: [SocketAddress], local: SocketAddress?, payloads: UDPTransport.HelloConfiguration,
    sockets: UDPTransport.SocketConfiguration
  ) {
    self.sockets = sockets
    purpose = Self.purpose(
      greeting: servers, from: local, port: sockets.bind?.port ?? 0, payloads)
  }

  private static func purpose(
    greeting servers: [SocketAddress], from local: SocketAddress?, port: Int,
    _ payloads: UDPTransport.HelloConfiguration
  ) -> Purpose {
    // An address of one family cannot reach the other family.
    let reachable = servers.filter { local == nil || $0.family == local?.family }
    var candidates = HostResolution.inTurn(reachable.isEmpty ? servers : reachable)
    if port > 0 {
      // A given port can be bound only once per family.
      candidates = candidates.enumerated().filter { place, address in
        !candidates[..<place].contains { $0.family == address.family }
      }.map(\.element)
    }
    return .client(
      servers: Array(candidates.prefix(maximumServers)), local: local, payloads: payloads)
  }

  /// Opens the sockets; call it on the event loop.
  func makeReceiver(
    on eventLoop: any EventLoop, delivering sink: any DatagramSink
  ) throws(TransportError) -> any TrackReceiver {
    // The distances of a description may lead beyond the last port, or below the first one.
    guard (0...65_535).contains(localPort) else {
      throw .addressNotAvailable(address: "port \(localPort)")
    }
    switch purpose {
    case .client(let servers, let local, let payloads):
      guard servers.count > 1 else {
        let server = servers.first ?? .any(.v4, port: 0)
        return try greeting(server, from: local, payloads, on: eventLoop, delivering: sink)
      }
      return try UDPAttempts(at: servers, on: eventLoop, delivering: sink) {
        (server, relay) throws(TransportError) in
        try greeting(server, from: local, payloads, on: eventLoop, delivering: relay)
      }
    case .unicast(let local, let sources, let listening):
      return UDPReceiver(
        ports: try unicastPorts(local: local, listening),
        expecting: expectation(of: sources, listening), hello: nil, on: eventLoop,
        delivering: sink)
    case .multicast(let address, let local, let sources, let listening):
      let isExcluding = if case .only = listening.senders { false } else { true }
      let group = try JoinedGroup(
        address, sources: sources, isExcluding: isExcluding, interface: sockets.interface,
        local: local)
      let media = try group.socket(on: listening.port)
      let port = listening.controlPort ?? listening.port + 1
      // RTCP is useful, but its failure is tolerated.
      let control =
        port == listening.port || port > 65_535
        ? nil : try? group.socket(on: port)
      var ports = ports(
        media, control: control,
        repairs: try repairSockets(beside: media, listening) {
          (port) throws(TransportError) in try group.socket(on: port)
        })
      ports.group = group
      return UDPReceiver(
        ports: ports, expecting: expectation(of: sources, listening), hello: nil, on: eventLoop,
        delivering: sink)
    }
  }

  /// The requested port of this machine; 0 lets the kernel choose.
  private var localPort: Int {
    switch purpose {
    case .client: sockets.bind?.port ?? 0
    case .unicast(_, _, let listening), .multicast(_, _, _, let listening): listening.port
    }
  }

  /// A receiver for one address of a server, which gets the hello.
  private func greeting(
    _ server: SocketAddress, from local: SocketAddress?,
    _ payloads: UDPTransport.HelloConfiguration,
    on eventLoop: any EventLoop, delivering sink: any DatagramSink
  ) throws(TransportError) -> UDPReceiver {
    let local = local ?? .any(server.family, port: sockets.bind?.port ?? 0)
    let media = try DatagramSocket.bound(
      to: local, takesOneFamily: true, interface: sockets.interface)
    let hello = UDPReceiver.Hello(
      server: server, payloads: payloads,
      schedule: HelloSchedule(start: Instant.now, interval: payloads.interval))
    return UDPReceiver(
      ports: ports(media), expecting: .peer(server), hello: hello, on: eventLoop, delivering: sink)
  }

  private func expectation(
    of sources: [SocketAddress], _ listening: UDPTransport.Listening
  ) -> SourcePin.Expectation {
    if case .only = listening.senders { return .hosts(sources) }
    return .others(than: sources)
  }

  private func ports(
    _ media: DatagramSocket, control: DatagramSocket? = nil, repairs: [UDPReceiver.Repair] = []
  ) -> UDPReceiver.Ports {
    for repair in repairs { _ = repair.socket.enlargeReceiveBuffer(to: sockets.receiveBuffer) }
    return UDPReceiver.Ports(
      media: media, control: control, repairs: repairs,
      receiveBuffer: media.enlargeReceiveBuffer(to: sockets.receiveBuffer))
  }

  private func bound(to address: SocketAddress) throws(TransportError) -> DatagramSocket {
    try .bound(to: address, interface: sockets.interface)
  }

  /// The sockets of the media, of its RTCP and of the requested repairs.
  ///
  /// That a port for repairs is taken must be reported. Without the one for RTCP, media can be
  /// received all the same.
  private func unicastPorts(
    local: SocketAddress?, _ listening: UDPTransport.Listening
  ) throws(TransportError) -> UDPReceiver.Ports {
    var attempts = 0
    while true {
      attempts += 1
      // If the kernel chose the port, it may choose another one.
      let mayChange = listening.port == 0 && attempts < Self.maximumAttempts
      let media = try unicastSocket(local: local, listening)
      let repairs: [UDPReceiver.Repair]
      do throws(TransportError) {
        repairs = try repairSockets(beside: media, listening) {
          (port) throws(TransportError) in try socket(beside: media, port: port)
        }
      } catch {
        if mayChange { continue }
        throw error
      }
      var ports = ports(media, repairs: repairs)
      guard let port = controlPort(beside: media, listening) else { return ports }
      ports.control = try? socket(beside: media, port: port)
      if ports.control == nil {
        if mayChange { continue }
        ports.missingControlPort = port
      }
      return ports
    }
  }

  private func unicastSocket(
    local: SocketAddress?, _ listening: UDPTransport.Listening
  ) throws(TransportError) -> DatagramSocket {
    guard let local else { return try boundToAnyAddress(port: listening.port) }
    do {
      return try bound(to: local)
    } catch .addressNotAvailable where listening.fallsBackToAnyAddress {
      return try bound(to: .any(local.family, port: listening.port))
    } catch .addressNotAvailable where sockets.bind?.host == nil {
      throw .addressOfSender(address: local.endpoint, port: listening.port)
    }
  }

  private func boundToAnyAddress(port: Int) throws(TransportError) -> DatagramSocket {
    // Without IPv6, the kernel refuses the socket or the address.
    if let socket = try? DatagramSocket(family: .v6) {
      socket.acceptBothFamilies()
      if let interface = sockets.interface { try socket.bind(toInterface: interface) }
      do {
        try socket.bind(to: .any(.v6, port: port))
        return socket
      } catch .addressNotAvailable {
      }
    }
    return try bound(to: .any(.v4, port: port))
  }

  /// The port for RTCP, unless it is that of the media, or beyond the last one.
  private func controlPort(
    beside media: DatagramSocket, _ listening: UDPTransport.Listening
  ) -> Int? {
    guard let mediaPort = media.localAddress?.port else { return nil }
    let port = listening.controlPort ?? mediaPort + 1
    return port == mediaPort || port > 65_535 ? nil : port
  }

  /// The repairs, each on a port that `open` opens: correction packets of columns and rows, and
  /// retransmissions.
  private func repairSockets(
    beside media: DatagramSocket, _ listening: UDPTransport.Listening,
    open: (Int) throws(TransportError) -> DatagramSocket
  ) throws(TransportError) -> [UDPReceiver.Repair] {
    guard let mediaPort = media.localAddress?.port else { return [] }
    var repairs: [UDPReceiver.Repair] = []
    for port in listening.takesCorrection ? [mediaPort + 2, mediaPort + 4] : []
    where port <= 65_535 && port != listening.controlPort {
      repairs.append(UDPReceiver.Repair(socket: try open(port), channel: .correction))
    }
    if let port = listening.retransmissionPort {
      repairs.append(UDPReceiver.Repair(socket: try open(port), channel: .retransmission))
    }
    return repairs
  }

  private func socket(
    beside media: DatagramSocket, port: Int
  ) throws(TransportError) -> DatagramSocket {
    let address = media.localAddress ?? .any(.v4, port: 0)
    let socket = try DatagramSocket(family: address.family)
    if address == .any(.v6, port: address.port ?? 0) { socket.acceptBothFamilies() }
    if let interface = sockets.interface { try socket.bind(toInterface: interface) }
    try socket.bind(to: address.with(port: port))
    return socket
  }
}
