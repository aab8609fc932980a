internal import NIOCore

/// Where a server sent to, and whether it may be followed (RFC 2326 §11.1, §10.10; RFC 9110 §15.4).
struct Redirections: Sendable {
  /// Why a redirect is not followed.
  enum Fault: Error, Sendable, Hashable {
    /// It leads to where nobody is sent: to another protocol, from TLS to none, or into the machine
    /// that the receiver runs on.
    case refused
    /// The way is too long, or a circle.
    case tooOften(limit: Int)
  }

  private var visited: Set<ServerURL>
  private var hops = 0

  init(from url: ServerURL) { visited = [url] }

  /// Decides about the address that a server of `url` names.
  mutating func follow(_ location: String, from url: ServerURL) throws(Fault) -> ServerURL {
    guard let target = try? ServerURL(parsing: location, as: url.family),
      target.isSecure || !url.isSecure,
      !target.isConfined || url.isConfined || target.host == url.host
    else { throw .refused }
    guard hops < Self.maximumHops, visited.insert(target).inserted else {
      throw .tooOften(limit: Self.maximumHops)
    }
    hops += 1
    return target
  }

  /// Redirects that are followed in one session.
  private static let maximumHops = 3
}

extension ServerURL {
  /// Whether credentials for one are credentials for the other.
  func hasSameOrigin(as other: ServerURL) -> Bool {
    isSecure == other.isSecure && port == other.port
      && host.lowercased() == other.host.lowercased()
  }

  /// Whether credentials for `other` may be sent here: also where a server has its clients use TLS.
  func takesCredentials(of other: ServerURL) -> Bool {
    if hasSameOrigin(as: other) { return true }
    let arePortsUsual = [self, other].allSatisfy {
      $0.port == $0.family.defaultPort(isSecure: $0.isSecure)
    }
    return isSecure && arePortsUsual && host.lowercased() == other.host.lowercased()
  }

  fileprivate var isConfined: Bool { Self.isConfined(host) }

  /// Whether a host is this machine, its link, or no host at all: addresses that a server far away
  /// must not be able to send anybody to.
  static func isConfined(_ host: String) -> Bool {
    let name = host.lowercased()
    if name == "localhost" || name.hasSuffix(".localhost") { return true }
    // A zone is part of a link-local address, and not of the address as such.
    let bare = name.split(separator: "%", maxSplits: 1).first.map(String.init) ?? name
    guard let address = try? SocketAddress(ipAddress: bare, port: 0) else {
      // What is all digits and dots is an address to the resolver, in octal or short of parts.
      return name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        || name.hasPrefix("0x")
    }
    guard !address.isMulticast, var text = address.ipAddress?.lowercased() else { return true }
    // The kernel's notation is canonical, so that text compares as well as bits.
    let isLinkLocal = ["fe8", "fe9", "fea", "feb"].contains { text.hasPrefix($0) }
    if isLinkLocal || text == "::" || text == "::1" { return true }
    // An IPv4 address in IPv6 (::ffff:127.0.0.1) is that address.
    if text.contains("."), let colon = text.lastIndex(of: ":") {
      text = String(text[colon...].dropFirst())
    }
    return ["0.", "127.", "169.254."].contains { text.hasPrefix($0) }
  }
}
