/// A SOURCE argument divided into what may be shown to anybody and what may not.
///
/// Only in the URLs of protocols with logins does something stand before the `@` that is secret.
public struct SourceArgument: Sendable {
  /// The argument without user name and password.
  public let bare: String
  /// The argument as people may see it: without the password.
  public let shown: String
  /// Percent-decoded; `nil` when the URL names none.
  public let user: String?
  /// Percent-decoded; `nil` when the URL has none.
  public let password: String?

  public init(_ text: String) {
    guard let scheme = SourceAddress.scheme(of: text), Self.schemes.contains(scheme) else {
      (bare, shown, user, password) = (text, Self.withoutLogin(text), nil, nil)
      return
    }
    let start = text.index(text.startIndex, offsetBy: scheme.count + 3)
    let authority = text[start...].prefix { $0 != "/" && $0 != "?" }
    guard let end = authority.lastIndex(of: "@") else {
      (bare, user, password) = (text, nil, nil)
      // In 'rtsp://user:pass/word@host', which is no URL, the password is one all the same.
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

  /// Whether `authority` is a host, with a port or without one.
  private static func isEndpoint(_ authority: Substring) -> Bool {
    guard let (host, port) = try? SourceAddress.divide(authority),
      (try? SourceAddress.host(host)) != nil
    else { return false }
    return port.map { $0.isEmpty || (try? SourceAddress.port($0)) != nil } ?? true
  }

  /// `text` without what looks like a user name and a password, in what is no URL with a login.
  private static func withoutLogin(_ text: String) -> String {
    guard let at = text.lastIndex(of: "@") else { return text }
    let scheme = SourceAddress.scheme(of: text).map { "\($0)://" } ?? ""
    let login = text[..<at].dropFirst(scheme.count)
    // The sender of a multicast group stands there too, and an IPv6 address has colons of its own.
    guard !login.hasPrefix("["), login.contains(":") else { return text }
    return scheme + "…" + text[at...]
  }

  /// `text` without what follows `password=` and the like, which Xiongmai and Foscam cameras want
  /// in their paths.
  private static func withoutPasswords(inPathOf text: String) -> String {
    var rest = text[...]
    var shown = ""
    while let name = passwordNames.compactMap({ rest.firstRange(of: $0) })
      .min(by: { $0.lowerBound < $1.lowerBound })
    {
      shown += rest[..<name.upperBound]
      let value = rest[name.upperBound...].prefix { !"&?/;#".contains($0) }
      if !value.isEmpty { shown += "…" }
      rest = rest[value.endIndex...]
    }
    return shown + rest
  }

  private static let passwordNames = ["password=", "passwd=", "pwd=", "Password=", "PASSWORD="]
  private static let schemes: Set = ["rtsp", "rtsps", "rtspu", "http", "https"]
}
