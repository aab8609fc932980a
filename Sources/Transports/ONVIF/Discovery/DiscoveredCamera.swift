/// A camera that answers WS-Discovery, as it describes itself.
public struct DiscoveredCamera: Sendable, Hashable {
  /// The URL with which it is received: `onvif://` and the host, whose services say the rest.
  public var url: String
  /// What it is called; `nil` if it does not say, like the next two.
  public var name: String?
  /// Its model.
  public var hardware: String?
  /// Where it is, in the words of whoever set it up.
  public var location: String?
  /// The addresses of its device service, as it gives them.
  public var addresses: [String]
  /// What tells it from others, such as `urn:uuid:…`.
  public var identifier: String
}

extension DiscoveredCamera {
  /// Reads a `ProbeMatch` that came from `sender`, an IP address without brackets; `nil` for
  /// anything but a camera.
  init?(_ match: XMLElement, from sender: String) {
    let scopes = match["Scopes"].map { Self.words(in: $0.text, Self.maximumScopes) } ?? []
    let types = match["Types"]?.text ?? ""
    let isCamera =
      types.contains("NetworkVideoTransmitter")
      || scopes.contains { $0.lowercased().hasPrefix(Self.scope) }
    guard isCamera else { return nil }
    let addresses = match["XAddrs"].map { Self.words(in: $0.text, Self.maximumAddresses) } ?? []
    let given = addresses.compactMap { GivenAddress($0) }.filter {
      ServerURL.Family.http.schemes.contains($0.scheme)
    }
    url = Self.url(for: given, from: sender)
    self.addresses = addresses.map(\.printable)
    identifier = (match["EndpointReference"]?["Address"]?.text ?? "").printable
    name = Self.value(of: "name", in: scopes)
    hardware = Self.value(of: "hardware", in: scopes)
    location = Self.value(of: "location", in: scopes)
  }

  /// The host is the one that answered, because cameras also give addresses of other networks,
  /// 169.254.x.y or 0.0.0.0; the port is that of the address for this host, or of the first.
  private static func url(for given: [GivenAddress], from sender: String) -> String {
    let bare = String(sender.prefix { $0 != "%" })
    let own = ServerURL.endpoint(bare, nil)
    let best = given.first { $0.host.lowercased() == own.lowercased() } ?? given.first
    let isSecure = best?.scheme == ServerURL.Family.http.secureScheme
    let family = ServerURL.Family.onvif
    let usual = family.defaultPort(isSecure: isSecure)
    let port = best?.port.flatMap { $0 == usual ? nil : $0 }
    // RFC 6874 §2: the zone of a link-local address.
    let host = sender.contains("%") ? bare + "%25" + sender.drop { $0 != "%" }.dropFirst() : sender
    return (isSecure ? family.secureScheme : family.scheme) + "://" + ServerURL.endpoint(host, port)
  }

  /// The values of all scopes of a kind, such as `onvif://www.onvif.org/location/city/London`.
  private static func value(of kind: String, in scopes: [String]) -> String? {
    let prefix = scope + kind + "/"
    let values = scopes.filter { $0.lowercased().hasPrefix(prefix) }
      .map { String($0.dropFirst(prefix.count)).percentDecoded.trimmed }
      .filter { !$0.isEmpty }
    return values.isEmpty ? nil : values.joined(separator: ", ").printable
  }

  private static func words(in text: String, _ limit: Int) -> [String] {
    text.split(whereSeparator: \.isWhitespace).prefix(limit).map(String.init)
  }

  /// What the scopes of ONVIF begin with (ONVIF Core §7.3.2.1).
  private static let scope = "onvif://www.onvif.org/"
  /// The most scopes of a camera that are read; cameras have about ten.
  private static let maximumScopes = 64
  /// The most addresses of a camera that are read; there is one for each of its own addresses.
  private static let maximumAddresses = 16
}
