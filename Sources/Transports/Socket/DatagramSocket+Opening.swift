internal import NIOCore

extension DatagramSocket {
  /// A socket on `address`, which receives on the interface called `interface` alone, if given.
  static func bound(
    to address: SocketAddress, interface: String? = nil
  ) throws(TransportError) -> DatagramSocket {
    let socket = try DatagramSocket(family: address.family)
    if let interface { try socket.bind(toInterface: interface) }
    try socket.bind(to: address)
    return socket
  }

  /// Two sockets on an even port of `address` and the odd one above it (RFC 3550 §11).
  ///
  /// Port 0 lets the kernel choose. Another port is taken as it is, even or not.
  static func pair(
    on address: SocketAddress, interface: String? = nil
  ) throws(TransportError) -> (media: DatagramSocket, control: DatagramSocket) {
    if let port = address.port, port > 0 {
      guard port < 65_535 else { throw .addressNotAvailable(address: "port \(port + 1)") }
      let media = try bound(to: address, interface: interface)
      return (media, try bound(to: address.with(port: port + 1), interface: interface))
    }
    for _ in 0..<maximumPairAttempts {
      let first = try bound(to: address, interface: interface)
      guard let port = first.localAddress?.port else { continue }
      let isEven = port.isMultiple(of: 2)
      do {
        let second = try bound(
          to: address.with(port: isEven ? port + 1 : port - 1), interface: interface)
        return isEven ? (first, second) : (second, first)
      } catch .portInUse { continue }
    }
    throw .portInUse(address: "every port tried of \(address.ipAddress ?? "this machine")")
  }

  /// A socket that hears `group` on its port, from any source, from `sources` alone, or from all
  /// but them.
  static func joined(
    _ group: SocketAddress, sources: [SocketAddress], isExcluding: Bool = false,
    interface name: String? = nil
  ) throws(TransportError) -> DatagramSocket {
    var interface: UInt32 = 0
    if let name { interface = try interfaceIndex(named: name) }
    let socket = try DatagramSocket(family: group.family)
    socket.shareAddress()
    // Bound to the group, the socket hears nothing that is sent to the port alone.
    try socket.bind(to: group)
    if sources.isEmpty || isExcluding {
      try socket.join(group: group, source: nil, interface: interface)
    }
    for source in sources {
      if isExcluding {
        socket.block(source, of: group, interface: interface)
      } else {
        try socket.join(group: group, source: source, interface: interface)
      }
    }
    return socket
  }

  /// Ports that the kernel proposes of which the neighbour may be taken.
  private static var maximumPairAttempts: Int { 64 }
}
