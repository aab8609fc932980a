internal import NIOCore

/// An IPv4 or IPv6 address from a header; cheap to compare and to store.
struct IPAddress: Sendable, Hashable {
  /// The upper half of an IPv6 address; 0 in IPv4.
  let high: UInt64
  /// The lower half, or the 32 bits of an IPv4 address.
  let low: UInt64
  let isVersion6: Bool

  init(version4 bits: UInt32) { (high, low, isVersion6) = (0, UInt64(bits), false) }

  init(version6 high: UInt64, _ low: UInt64) {
    (self.high, self.low, isVersion6) = (high, low, true)
  }

  /// The address in network byte order: 4 or 16 bytes.
  var bytes: ByteBuffer {
    var bytes = ByteBuffer()
    if isVersion6 {
      bytes.writeMultipleIntegers(high, low)
    } else {
      bytes.writeInteger(UInt32(truncatingIfNeeded: low))
    }
    return bytes
  }
}

/// An address and a port of UDP or TCP.
struct IPEndpoint: Sendable, Hashable {
  var address: IPAddress
  var port: UInt16

  init(address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }

  /// `nil` if it is not an IP address.
  init?(_ socketAddress: SocketAddress) {
    guard let port = socketAddress.port else { return nil }
    let storage = socketAddress.storage
    // Both kinds contain the address in network byte order, after the family and the port.
    let bytes = unsafe withUnsafeBytes(of: storage) { unsafe ByteBuffer(bytes: $0) }
    let address: IPAddress
    switch socketAddress.family {
    case .v4:
      guard let bits = bytes.getInteger(at: 4, as: UInt32.self) else { return nil }
      address = IPAddress(version4: bits)
    case .v6:
      guard let (high, low) = bytes.getMultipleIntegers(at: 8, as: (UInt64, UInt64).self) else {
        return nil
      }
      address = IPAddress(version6: high, low)
    }
    self.init(address: address, port: UInt16(clamping: port))
  }

  var socketAddress: SocketAddress? {
    try? SocketAddress(packedIPAddress: address.bytes, port: Int(port))
  }

  /// The same address with the next port; after the last one comes 0, which nobody uses.
  func nextPort() -> IPEndpoint { IPEndpoint(address: address, port: port &+ 1) }
}

extension IPEndpoint: CustomStringConvertible {
  /// As in a URL: `192.0.2.1:5004`, `[2001:db8::1]:5004`.
  var description: String { socketAddress?.endpoint ?? "port \(port)" }
}
