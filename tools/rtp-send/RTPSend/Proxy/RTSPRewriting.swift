import NIOCore
import RTPWire

/// What an RTSP proxy changes in messages, so that media goes through it: ports in `Transport`
/// (RFC 2326 §12.39), and addresses of the server in URLs.
struct RTSPRewriting {
  /// The server as it may call itself: `host:port`, in lower case.
  private let server: Set<String>
  /// How the client calls the proxy.
  private(set) var authority: String

  /// - Parameters:
  ///   - server: the names and addresses of the server.
  ///   - port: its port.
  ///   - proxy: the address on which the client came, until its requests say otherwise.
  init(server: [String], port: Int, proxy: String) {
    var names: Set<String> = []
    for host in server {
      let host = host.hostInURL.lowercased()
      names.insert("\(host):\(port)")
      if port == 554 { names.insert(host) }
    }
    self.server = names
    authority = proxy
  }

  /// Learns what the client calls the proxy.
  mutating func note(request: RTSPText) {
    guard let found = Self.authority(in: request.url[...]) else { return }
    authority = String(request.url[found])
  }

  /// The ports that a request for UDP names, or `nil` if it is for something else.
  static func clientPorts(in request: RTSPText) -> (media: Int, control: Int)? {
    guard request.method == "SETUP", let transport = request["Transport"] else { return nil }
    return ports("client_port", in: transport)
  }

  /// Replaces the client's ports by those of the proxy.
  static func set(clientPort: Int, in request: inout RTSPText) {
    guard let transport = request["Transport"] else { return }
    request["Transport"] = transport.split(separator: ",").map { alternative in
      change(String(alternative)) { name, value in
        switch name {
        // Media has to come to the proxy.
        case "destination": nil
        case "client_port": ports(value) == nil ? value : "\(clientPort)-\(clientPort + 1)"
        default: value
        }
      }
    }.joined(separator: ",")
  }

  /// Where the server says that its media comes from, or `nil` if none comes in datagrams.
  ///
  /// It need not name ports (RFC 2326 §12.39), nor anything else where it takes what was offered.
  static func server(
    in response: RTSPText
  ) -> (source: String?, ports: (media: Int, control: Int)?)? {
    guard (200..<300).contains(response.status) else { return nil }
    let transport = response["Transport"] ?? ""
    let parts = transport.split(separator: ";").map { $0.lowercased().filter { $0 != " " } }
    let isElsewhere = parts.contains {
      $0.hasSuffix("/tcp") || $0.hasPrefix("interleaved=") || $0 == "multicast"
    }
    guard !isElsewhere else { return nil }
    return (parameter("source", in: transport), ports("server_port", in: transport))
  }

  /// Replaces the server's ports by those of the proxy, and the proxy's by those of the client.
  static func set(
    serverPort: Int, address: String, clientPorts: (media: Int, control: Int),
    in response: inout RTSPText
  ) {
    guard let transport = response["Transport"] else { return }
    response["Transport"] = change(transport) { name, value in
      switch name {
      case "destination": nil
      case "source": address
      case "server_port": "\(serverPort)-\(serverPort + 1)"
      case "client_port": "\(clientPorts.media)-\(clientPorts.control)"
      default: value
      }
    }
  }

  /// Makes URLs of the server in a response lead to the proxy.
  func redirect(_ response: inout RTSPText) {
    for name in ["Content-Base", "Content-Location", "RTP-Info", "Location"] {
      if let value = response[name] { response[name] = redirected(value) }
    }
    guard response["Content-Type"]?.lowercased().hasPrefix("application/sdp") == true else {
      return
    }
    let text = String(decoding: response.body, as: UTF8.self)
    let redirected = redirected(text)
    guard redirected != text else { return }
    response.body = Array(redirected.utf8)
    response["Content-Length"] = "\(response.body.count)"
  }

  private func redirected(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let found = Self.authority(in: rest) {
      result += rest[..<found.lowerBound]
      let name = rest[found].lowercased()
      result += server.contains(name) ? authority : String(rest[found])
      rest = rest[found.upperBound...]
    }
    return result + rest
  }

  /// The host and port of the first RTSP URL in `text`, without a user.
  private static func authority(in text: Substring) -> Range<Substring.Index>? {
    guard let scheme = text.firstRange(of: "rtsp://") else { return nil }
    let end =
      text[scheme.upperBound...].firstIndex { $0.isNewline || "/?;, \"".contains($0) }
      ?? text.endIndex
    let start =
      text[scheme.upperBound..<end].lastIndex(of: "@").map { text.index(after: $0) }
      ?? scheme.upperBound
    return start..<end
  }

  private static func ports(_ name: String, in transport: String) -> (media: Int, control: Int)? {
    for alternative in transport.split(separator: ",") {
      if let value = parameter(name, in: String(alternative)), let ports = ports(value) {
        return ports
      }
    }
    return nil
  }

  private static func ports(_ value: String) -> (media: Int, control: Int)? {
    let parts = value.split(separator: "-").map { Int($0) }
    guard let first = parts.first, let media = first, (1...65_534).contains(media) else {
      return nil
    }
    let control = parts.count > 1 ? parts[1] ?? media + 1 : media + 1
    return (1...65_535).contains(control) ? (media, control) : nil
  }

  private static func parameter(_ name: String, in transport: String) -> String? {
    for part in transport.split(separator: ";") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { continue }
      if pair[0].lowercased().filter({ $0 != " " }) == name { return String(pair[1]) }
    }
    return nil
  }

  /// Changes the parameters of one alternative; those that become `nil` are left out.
  private static func change(
    _ alternative: String, _ change: (String, String) -> String?
  ) -> String {
    alternative.split(separator: ";").compactMap { part -> String? in
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { return String(part) }
      let name = pair[0].lowercased().filter { $0 != " " }
      return change(name, String(pair[1])).map { "\(pair[0])=\($0)" }
    }.joined(separator: ";")
  }
}
