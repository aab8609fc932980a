public import NIOCore
import RTPWire

/// The destination of the stream: an address, or whoever asks for it.
public enum Destination: Sendable, Hashable {
  /// `udp://host:port`
  case send(host: String, port: Int)
  /// `listen://address:port`, where the address may be left out and port 0 takes any free one.
  case listen(host: String, port: Int)
  /// `http://address:port`, in the same way: each client that asks for any path gets the stream
  /// from its beginning.
  case serveHTTP(host: String, port: Int)
  /// `rtsp://address:port/name`, in the same way, or `rtsps://`: clients ask for the name.
  case serveRTSP(host: String, port: Int, name: String, isSecure: Bool)

  /// Reads a URL of one of these forms, with IPv6 addresses in brackets.
  ///
  /// - Throws: ``SendError/invalid(option:reason:)`` if it has none of them.
  public init(_ url: String) throws(SendError) {
    let problem = SendError.invalid(
      option: "DESTINATION",
      reason:
        "must be udp://HOST:PORT, listen://[ADDRESS]:PORT, http://[ADDRESS]:PORT or "
        + "rtsp://[ADDRESS]:PORT/NAME, not '\(url)'")
    guard let separator = url.firstRange(of: "://") else { throw problem }
    let scheme = url[..<separator.lowerBound].lowercased()
    var rest = url[separator.upperBound...]
    if scheme == "rtp" {
      // So FFmpeg calls it, and rtp-recv at the other end.
      let meant = "udp://" + rest.prefix { $0 != "?" }
      _ = try Destination(meant)
      throw .invalid(
        option: "DESTINATION",
        reason: "\(url) is where a receiver listens; to send there, write \(meant)")
    }
    var name = ""
    if scheme == "rtsp" || scheme == "rtsps", let slash = rest.firstIndex(of: "/") {
      name = RTSPTarget(url).path
      rest = rest[..<slash]
    }
    if rest.hasSuffix("/") { rest.removeLast() }
    guard let colon = rest.lastIndex(of: ":"),
      let port = Int(rest[rest.index(after: colon)...]), (0...65_535).contains(port)
    else { throw problem }
    var host = rest[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw problem
    }
    switch scheme {
    case "udp" where !host.isEmpty && port > 0: self = .send(host: String(host), port: port)
    case "listen": self = .listen(host: host.isEmpty ? "0.0.0.0" : String(host), port: port)
    case "http": self = .serveHTTP(host: host.isEmpty ? "0.0.0.0" : String(host), port: port)
    case "rtsp", "rtsps":
      self = .serveRTSP(
        host: host.isEmpty ? "0.0.0.0" : String(host), port: port, name: name,
        isSecure: scheme == "rtsps")
    default: throw problem
    }
  }

  /// The address with the name resolved, which may wait for a name server.
  func resolved() throws(SendError) -> SocketAddress {
    let (host, port) =
      switch self {
      case .send(let host, let port), .listen(let host, let port), .serveHTTP(let host, let port),
        .serveRTSP(let host, let port, _, _):
        (host, port)
      }
    do {
      return try SocketAddress.makeAddressResolvingHost(host, port: port)
    } catch {
      throw .network(address: host, reason: "this name or address is not known")
    }
  }
}

extension SocketAddress {
  /// The address as in a URL: `127.0.0.1:5004`, `[::1]:5004`.
  public var hostAndPort: String {
    "\((ipAddress ?? "?").hostInURL):\(port ?? 0)"
  }
}
