internal import Glibc
internal import NIOCore

extension SocketAddress {
  /// The address in a system call's storage, or `nil` when it is not an IP address.
  init?(_ storage: sockaddr_storage) {
    switch CInt(storage.ss_family) {
    case AF_INET: self.init(storage, family: .v4)
    case AF_INET6: self.init(storage, family: .v6)
    default: return nil
    }
  }

  private init(_ storage: sockaddr_storage, family: DatagramSocket.Family) {
    switch family {
    case .v4:
      self.init(unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: sockaddr_in.self) })
    case .v6:
      self.init(unsafe withUnsafeBytes(of: storage) { unsafe $0.load(as: sockaddr_in6.self) })
    }
  }

  /// The address in the form for system calls.
  var storage: sockaddr_storage {
    var storage = sockaddr_storage()
    unsafe withSockAddr { pointer, length in
      unsafe withUnsafeMutableBytes(of: &storage) {
        unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: length))
      }
    }
    return storage
  }

  var family: DatagramSocket.Family {
    if case .v6 = self { return .v6 }
    return .v4
  }

  /// Whether only this machine can reach it.
  var isLoopback: Bool {
    ipAddress.map { $0.hasPrefix("127.") || $0 == "::1" } ?? false
  }

  /// The address and port as in a URL: `127.0.0.1:5004`, `[::1]:5004`.
  var endpoint: String {
    guard let ipAddress, let port else { return "\(self)" }
    return family == .v6 ? "[\(ipAddress)]:\(port)" : "\(ipAddress):\(port)"
  }

  /// The wildcard address of `family`.
  static func any(_ family: DatagramSocket.Family, port: Int) -> SocketAddress {
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(family == .v4 ? AF_INET : AF_INET6)
    return SocketAddress(storage, family: family).with(port: port)
  }

  /// The same address with another port, or with 0 if that is not a UDP port: RTCP of a sender at
  /// port 65535 would belong to the next one.
  func with(port: Int) -> SocketAddress {
    var address = self
    address.port = Int(UInt16(exactly: port) ?? 0)
    return address
  }

  /// Whether it is valid on one link only, so that its interface has to be named (RFC 4291 §2.5.6).
  var isLinkLocal: Bool {
    guard case .v6(let address) = self else { return false }
    return unsafe withUnsafeBytes(of: address.address) { bytes in
      // Behind the family, the port and the flow.
      let (first, second) = unsafe (bytes[8], bytes[9])
      return first == 0xFE && second & 0xC0 == 0x80
    }
  }

  /// The index of the interface that an IPv6 address names (RFC 4007 §6); 0 if it names none.
  var zone: UInt32 {
    guard family == .v6 else { return 0 }
    return unsafe withUnsafeBytes(of: storage) {
      unsafe $0.load(fromByteOffset: Self.zoneOffset, as: UInt32.self)
    }
  }

  /// The same address on an interface, without which none of the link can be bound.
  func with(zone: UInt32) -> SocketAddress {
    guard family == .v6 else { return self }
    var storage = storage
    unsafe withUnsafeMutableBytes(of: &storage) {
      unsafe $0.storeBytes(of: zone, toByteOffset: Self.zoneOffset, as: UInt32.self)
    }
    return SocketAddress(storage) ?? self
  }

  /// The last field of `sockaddr_in6`, which Swift does not import.
  private static var zoneOffset: Int { MemoryLayout<sockaddr_in6>.size - MemoryLayout<UInt32>.size }
}
