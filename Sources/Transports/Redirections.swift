internal import NIOCore

/// A server's redirects, and whether they may be followed (RFC 2326 §11.2, §10.10; RFC 9110 §15.4).
struct Redirections: Sendable {
  /// Why a redirect is not followed.
  enum Fault: Error, Sendable, Hashable {
    /// It leads to a forbidden place: another protocol, from TLS to none, or the receiver's own
    /// machine.
    case refused
    /// There are too many, or they form a circle.
    case tooOften(limit: Int)
  }

  private var visited: Set<ServerURL>
  private var hops = 0

  init(from url: ServerURL) { visited = [url] }

  /// Begins anew where a stream has played: servers that share their clients send them to and fro,
  /// or to where they are.
  init() { visited = [] }

  /// Decides about a redirect from the server of `url`.
  mutating func follow(_ location: String, from url: ServerURL) throws(Fault) -> ServerURL {
    guard let target = try? url.target(of: location),
      target.isSecure || !url.isSecure,
      !target.isConfined || url.isConfined || target.host == url.host
    else { throw .refused }
    guard hops < Self.maximumHops, visited.insert(target).inserted else {
      throw .tooOften(limit: Self.maximumHops)
    }
    hops += 1
    return target
  }

  /// The most redirects followed in one session.
  private static let maximumHops = 3
}

extension ServerURL {
  /// Whether credentials for one are valid for the other.
  func hasSameOrigin(as other: ServerURL) -> Bool {
    isSecure == other.isSecure && port == other.port
      && host.lowercased() == other.host.lowercased()
  }

  /// Whether credentials for `other` may be sent here: also after an upgrade to TLS.
  func takesCredentials(of other: ServerURL) -> Bool {
    if hasSameOrigin(as: other) { return true }
    let arePortsUsual = [self, other].allSatisfy {
      $0.port == $0.family.defaultPort(isSecure: $0.isSecure)
    }
    return isSecure && arePortsUsual && host.lowercased() == other.host.lowercased()
  }

  /// The target of a redirect from here: a whole URL, or a path on the same server (RFC 9110
  /// §10.2.2, RFC 3986 §4.2).
  fileprivate func target(of location: String) throws(SourceFault) -> ServerURL {
    guard location.hasPrefix("/"), !location.hasPrefix("//") else {
      return try ServerURL(parsing: location, as: family)
    }
    var target = try ServerURL(parsing: origin + location, as: family)
    // What servers are sent is without the zone of a link-local address.
    target.host = host
    return target
  }

  fileprivate var isConfined: Bool { Self.isConfined(host) }

  /// Whether a host is this machine, its link, or no host at all: addresses to which a remote
  /// server must not redirect.
  static func isConfined(_ host: String) -> Bool {
    if HostResolution.isLocalhost(host) { return true }
    let name = host.lowercased()
    // A zone belongs to the link and is not part of the address itself.
    let bare = name.split(separator: "%", maxSplits: 1).first.map(String.init) ?? name
    guard let address = try? SocketAddress(ipAddress: bare, port: 0) else {
      // The resolver reads digits and dots as an address, even octal or shortened ones.
      return name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        || name.hasPrefix("0x")
    }
    guard !address.isMulticast, var text = address.ipAddress?.lowercased() else { return true }
    // The kernel's notation is canonical, so comparing text is exact.
    if address.isLinkLocal || text == "::" || text == "::1" { return true }
    // An IPv4 address in IPv6 form (::ffff:127.0.0.1) counts as IPv4.
    if text.contains("."), let colon = text.lastIndex(of: ":") {
      text = String(text[colon...].dropFirst())
    }
    return ["0.", "127.", "169.254."].contains { text.hasPrefix($0) }
  }
}
