import RTPWire

/// Where the page is served: `HOST:PORT`, or `:PORT` for all IPv4 addresses of this machine.
public struct ListenAddress: Sendable, Hashable {
  /// A name or an address, without the brackets of an IPv6 address.
  public let host: String
  /// 0 for any that is free.
  public let port: UInt16

  /// Reads `text`; `nil` if it is no host with a port.
  public init?(_ text: String) {
    // As in the URLs of rtp-send.
    let whole = text.hasPrefix(":") ? "0.0.0.0" + text : text
    guard let authority = Authority(whole), let port = authority.port else { return nil }
    (host, self.port) = (authority.host, port)
  }
}

extension ListenAddress: CustomStringConvertible {
  public var description: String { "\(host.hostInURL):\(port)" }
}
