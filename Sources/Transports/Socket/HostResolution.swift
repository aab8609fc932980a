internal import Glibc
internal import NIOCore

/// Resolves a host name to an address, off the event loop and within a deadline.
enum HostResolution {
  /// The address of `host`, which may be a literal.
  ///
  /// If a name has both, the IPv4 address is taken: it serves for binding or filtering, and senders
  /// of this kind often use IPv4 only.
  ///
  /// `zone` is the interface of link-local IPv6 addresses that name none (RFC 4007 §11).
  static func resolve(
    _ host: String, port: Int, zone: String? = nil, on eventLoop: any EventLoop
  ) async throws -> SocketAddress {
    let addresses = try await addresses(of: host, port: port, zone: zone, on: eventLoop).get()
    guard let address = addresses.first(where: { $0.family == .v4 }) ?? addresses.first else {
      throw TransportError.nameNotResolved(host: host, reason: "no IP address")
    }
    return address
  }

  /// All addresses of `host`, which may be a literal, in the order in which to try them (RFC 6724);
  /// never empty.
  ///
  /// `localhost` and its subdomains are the loopback addresses, whatever the resolver says
  /// (RFC 6761 §6.3).
  static func addresses(
    of host: String, port: Int, zone: String? = nil, on eventLoop: any EventLoop
  ) -> EventLoopFuture<[SocketAddress]> {
    if let zone, host.contains(":"), !host.contains("%"),
      let addresses = try? lookUp("\(host)%\(zone)", flags: AI_NUMERICHOST)
    {
      return eventLoop.makeSucceededFuture(addresses.map { $0.with(port: port) })
    }
    // SwiftNIO's initializer traps on a port above 65535.
    if let address = try? SocketAddress(ipAddress: host, port: 0) {
      return eventLoop.makeSucceededFuture([address.with(port: port)])
    }
    // A server on this machine may listen at either address, and many a /etc/hosts has only one.
    if isLocalhost(host) {
      let both = ["127.0.0.1", "::1"].compactMap { try? SocketAddress(ipAddress: $0, port: 0) }
      return eventLoop.makeSucceededFuture(both.map { $0.with(port: port) })
    }
    return lookups.addresses(of: host, on: eventLoop, within: .seconds(Int64(deadline)))
      .map { addresses in addresses.map { $0.with(port: port) } }
  }

  /// Whether a host is a name that always stands for this machine (RFC 6761 §6.3), with or without
  /// the final dot of a complete name.
  static func isLocalhost(_ host: String) -> Bool {
    let lowercased = host.lowercased()
    let name = lowercased.dropLast(lowercased.hasSuffix(".") ? 1 : 0)
    return name == "localhost" || name.hasSuffix(".localhost")
  }

  /// The addresses of both families alternately, the preferred one first (RFC 8305 §4); each once.
  static func inTurn(_ addresses: [SocketAddress]) -> [SocketAddress] {
    var left: [SocketAddress] = []
    for address in addresses where !left.contains(address) { left.append(address) }
    var turn: [SocketAddress] = []
    while let last = turn.last ?? left.first {
      let next = turn.isEmpty ? 0 : left.firstIndex { $0.family != last.family } ?? 0
      guard left.indices.contains(next) else { break }
      turn.append(left.remove(at: next))
    }
    return turn
  }

  private static let lookups = HostLookups { host throws(TransportError) in
    try lookUp(host, flags: AI_ADDRCONFIG)
  }

  private static func lookUp(
    _ host: String, flags: CInt
  ) throws(TransportError) -> [SocketAddress] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = CInt(SOCK_DGRAM.rawValue)
    unsafe hints.ai_flags = flags
    var first: UnsafeMutablePointer<addrinfo>?
    let status = unsafe getaddrinfo(host, nil, &hints, &first)
    guard status == 0 else {
      throw .nameNotResolved(host: host, reason: unsafe String(cString: gai_strerror(status)))
    }
    defer { unsafe freeaddrinfo(first) }
    var addresses: [SocketAddress] = []
    var next = unsafe first
    while let info = unsafe next {
      if let address = unsafe info.pointee.ai_addr {
        var storage = sockaddr_storage()
        unsafe memcpy(&storage, address, Int(info.pointee.ai_addrlen))
        if let address = SocketAddress(storage) { addresses.append(address) }
      }
      unsafe next = info.pointee.ai_next
    }
    guard !addresses.isEmpty else {
      throw .nameNotResolved(host: host, reason: "no IP address")
    }
    return addresses
  }

  /// Seconds that the resolver may take: enough for a second name server when the first is silent
  /// (resolv.conf(5) asks each for 5 s), and less than the time after which no media has come.
  static let deadline = 8
}
