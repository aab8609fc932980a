import NIOCore

/// A host with a port, as the `Host` header names it (RFC 9110 §7.2).
struct Authority: Sendable, Hashable {
  /// In lower case, without the brackets of an IPv6 address.
  let host: String
  /// `nil` for that of the scheme.
  let port: UInt16?

  /// Reads `text`; `nil` if it is no host with or without a port.
  init?(_ text: some StringProtocol) {
    var (host, port) = (Substring(text), Substring?.none)
    if host.hasPrefix("[") {
      guard let end = host.firstIndex(of: "]") else { return nil }
      let rest = host[host.index(after: end)...]
      host = host[host.index(after: host.startIndex)..<end]
      guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
      port = rest.isEmpty ? nil : rest.dropFirst()
      guard host.contains(":") else { return nil }
    } else if let colon = host.firstIndex(of: ":") {
      port = host[host.index(after: colon)...]
      host = host[..<colon]
    }
    guard !host.isEmpty, host.utf8.allSatisfy(Self.isAllowed) else { return nil }
    if let port {
      guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port) else {
        return nil
      }
      self.port = number
    } else {
      self.port = nil
    }
    self.host = host.lowercased()
  }

  /// Whether the host is an IP address, which nobody's name server can point elsewhere.
  var isAddress: Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
    default: false
    }
  }
}
