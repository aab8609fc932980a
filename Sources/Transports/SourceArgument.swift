/// A SOURCE argument divided into what may be shown to anybody and what may not.
///
/// Text before an `@` is secret only in URLs of protocols with logins.
public struct SourceArgument: Sendable {
  /// The argument without user name and password.
  public let bare: String
  /// The argument for display: without the password.
  public let shown: String
  /// Percent-decoded; `nil` if the URL has none.
  public let user: String?
  /// Percent-decoded; `nil` if the URL has none.
  public let password: String?

  /// Divides `text`; `transports` say which schemes have logins.
  public init(_ text: String, transports: TransportCatalogue = .standard) {
    guard let scheme = SourceAddress.scheme(of: text),
      transports.schemesWithLogin.contains(scheme)
    else {
      (bare, user, password) = (text, nil, nil)
      shown = Self.withoutPasswords(inPathOf: Self.withoutLogin(text))
      return
    }
    let start = text.index(text.startIndex, offsetBy: scheme.count + 3)
    let authority = text[start...].prefix { $0 != "/" && $0 != "?" }
    guard let end = authority.lastIndex(of: "@") else {
      (bare, user, password) = (text, nil, nil)
      // 'rtsp://user:pass/word@host' is no valid URL, but the password in it is still secret.
      let at = Self.isEndpoint(authority) ? nil : text[start...].lastIndex(of: "@")
      shown = Self.withoutPasswords(
        inPathOf: at.map { String(text[..<start]) + "…" + text[$0...] } ?? text)
      return
    }
    let parts = authority[..<end].split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let rest = text[end...].dropFirst()
    bare = String(text[..<start]) + rest
    shown = Self.withoutPasswords(
      inPathOf: String(text[..<start]) + (parts.first ?? "") + "@" + rest)
    user = parts.first.flatMap { $0.isEmpty ? nil : String($0).percentDecoded }
    password = parts.count > 1 ? String(parts[1]).percentDecoded : nil
  }

  /// Whether a login was found.
  var hasLogin: Bool { user != nil || password != nil }

  /// Whether `authority` is a host, with or without a port.
  private static func isEndpoint(_ authority: Substring) -> Bool {
    guard let (host, port) = try? SourceAddress.divide(authority),
      (try? SourceAddress.host(host)) != nil
    else { return false }
    return port.map { $0.isEmpty || (try? SourceAddress.port($0)) != nil } ?? true
  }

  /// `text` without what looks like a user name and a password, although it is no URL with a login.
  private static func withoutLogin(_ text: String) -> String {
    guard let at = text.lastIndex(of: "@") else { return text }
    let scheme = SourceAddress.scheme(of: text).map { "\($0)://" } ?? ""
    let login = text[..<at].dropFirst(scheme.count)
    // It may be the sender of a multicast group, or an IPv6 address with its colons.
    guard !login.hasPrefix("["), login.contains(":") else { return text }
    return scheme + "…" + text[at...]
  }

  /// `text` without the values of ``secrets(inPathOf:)``.
  private static func withoutPasswords(inPathOf text: String) -> String {
    var shown = ""
    var start = text.startIndex
    for secret in secrets(inPathOf: text) {
      shown += text[start..<secret.startIndex] + "…"
      start = secret.endIndex
    }
    return shown + text[start...]
  }

  /// The values of `password=` and the like, which Xiongmai and Foscam cameras want in their paths,
  /// and of the tokens and signatures that services in the cloud give out.
  static func secrets(inPathOf text: String) -> [Substring] {
    var rest = text[...]
    var secrets: [Substring] = []
    while let sign = rest.firstIndex(of: "=") {
      let name = rest[..<sign].suffix(while: { $0.isLetter || $0.isNumber || "_-".contains($0) })
      rest = rest[sign...].dropFirst()
      guard secretNames.contains(where: { name.lowercased().hasSuffix($0) }) else { continue }
      let value = rest.prefix { !"&?/;#".contains($0) }
      if !value.isEmpty { secrets.append(value) }
      rest = rest[value.endIndex...]
    }
    return secrets
  }

  /// What the names of secrets end with.
  private static let secretNames = [
    "password", "passwd", "pass", "pwd", "token", "auth", "key", "secret", "signature", "sig",
  ]
}

extension Substring {
  /// The longest end of it whose characters all satisfy `condition`.
  fileprivate func suffix(while condition: (Character) -> Bool) -> Substring {
    var start = endIndex
    while start > startIndex, condition(self[index(before: start)]) { start = index(before: start) }
    return self[start...]
  }
}
