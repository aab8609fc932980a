/// An address that a camera gives away, in parts: it is a URL only by intention.
///
/// Cameras leave out the host or the port, write IPv6 addresses without brackets, or put a user
/// name and a password in.
struct GivenAddress: Sendable, Hashable {
  /// In lower case.
  let scheme: String
  /// As written, with brackets; may be empty.
  let host: String
  /// `nil` if there is none, or none that can be.
  let port: Int?
  /// What follows, from its `/` or `?` on; may be empty.
  let path: String
  let credentials: Credentials?

  /// `nil` for what does not begin with a scheme, and for control characters.
  init?(_ text: String) {
    guard text.utf8.count <= ServerURL.maximumLength,
      !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }),
      let scheme = SourceAddress.scheme(of: text)
    else { return nil }
    self.scheme = scheme
    let rest = text.dropFirst(scheme.count + 3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    path = String(rest[authority.endIndex...]).spacesEncoded
    let login = authority.lastIndex(of: "@").map { authority[..<$0] }
    let endpoint = login.map { authority[$0.endIndex...].dropFirst() } ?? authority
    let parts = try? SourceAddress.divide(endpoint)
    host = String(parts?.host ?? endpoint)
    let number = (parts?.rest).flatMap { try? SourceAddress.port($0) }
    port = number == 0 ? nil : number
    credentials = login.flatMap { ServerURL.credentials($0) }
  }

  /// The address at the host of another one, which is what is connected to; `nil` if it is none of
  /// `family`.
  func url(at other: ServerURL, as family: ServerURL.Family) -> ServerURL? {
    let authority = "host" + (port.map { ":\($0)" } ?? "")
    var url = try? ServerURL(parsing: "\(scheme)://\(authority)\(path)", as: family)
    url?.host = other.host
    return url
  }
}
