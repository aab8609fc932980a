internal import NIOCore

extension DatagramSocket {
  /// A socket on `address`, receiving only on the interface `interface`, if given.
  ///
  /// On the IPv6 wildcard it also receives IPv4 if that is the system's default, unless
  /// `takesOneFamily` is set: then the same port may be bound for IPv4 too.
  static func bound(
    to address: SocketAddress, takesOneFamily: Bool = false, interface: String? = nil
  ) throws(TransportError) -> DatagramSocket {
    let socket = try DatagramSocket(family: address.family)
    if takesOneFamily, address.family == .v6 { socket.acceptBothFamilies(false) }
    if let interface { try socket.bind(toInterface: interface) }
    try socket.bind(to: address)
    return socket
  }

  /// Two sockets on an even port of `address` and the odd one above it (RFC 3550 §11).
  ///
  /// With port 0 the kernel chooses. Another port is used as it is, even or odd.
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

  /// How many of the kernel's ports are tried until the neighbouring one is free.
  private static var maximumPairAttempts: Int { 64 }
}
