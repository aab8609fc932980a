internal import Glibc
internal import RTPWire

/// The address of a stream on a server, without credentials.
struct ServerURL: Sendable, Hashable {
  /// The server's protocol; each is declared in the folder of its transport.
  struct Family: Sendable, Hashable {
    let scheme: String
    /// With TLS.
    let secureScheme: String
    let port: Int
    /// With TLS.
    let securePort: Int
    /// Schemes that are read as ``scheme``, because redirects still have them.
    var formerSchemes: [String] = []

    /// Without and with TLS.
    var schemes: [String] { [scheme, secureScheme] }

    func defaultPort(isSecure: Bool) -> Int { isSecure ? securePort : port }
  }

  var family: Family
  var isSecure: Bool
  /// A name or an address, without brackets.
  var host: String
  /// 1 … 65535.
  var port: Int
  /// What follows the port, from its `/` or `?` on; may be empty.
  var path: String

  /// Reads a URL without its credentials.
  ///
  /// - Throws: what is wrong with it.
  init(parsing text: String, as family: Family = .rtsp) throws(SourceFault) {
    self = try Self.parse(text, as: family).url
  }

  /// Reads `scheme://[user[:password]@]host[:port][/path][?query]`.
  ///
  /// User and password are percent-decoded; spaces in the path are encoded, and the rest of it
  /// stays as written.
  ///
  /// - Throws: what is wrong with the URL, without any password.
  static func parse(
    _ text: String, as family: Family = .rtsp
  ) throws(SourceFault) -> (url: ServerURL, Credentials?) {
    let count = text.utf8.count
    guard count <= maximumLength else { throw .tooLong(count: count, limit: maximumLength) }
    guard !text.hasControlCharacter else { throw .controlCharacter }
    let schemes = family.schemes
    guard let scheme = SourceAddress.scheme(of: text) else { throw .noScheme(known: schemes) }
    guard (schemes + family.formerSchemes).contains(scheme) else {
      throw .unknownScheme(scheme, known: schemes)
    }
    let rest = text.dropFirst(scheme.count + 3)
    var authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest[authority.endIndex...]
    var credentials: Credentials?
    if let at = authority.lastIndex(of: "@") {
      credentials = Self.credentials(authority[..<at])
      authority = authority[at...].dropFirst()
    }
    // Some servers decode before they split lines, so encoded line feeds are dangerous too. In the
    // host, a percent sign begins a zone.
    guard !String(text[..<authority.startIndex] + path).percentDecoded.hasControlCharacter else {
      throw .controlCharacter
    }
    do throws(SourceFault) {
      let (host, digits) = try SourceAddress.divide(authority)
      guard !host.isEmpty else { throw .missingHost }
      let isSecure = scheme == family.secureScheme
      var port = family.defaultPort(isSecure: isSecure)
      if let digits, !digits.isEmpty { port = try SourceAddress.port(digits) }
      guard port > 0 else { throw .invalidPort("0") }
      let url = ServerURL(
        family: family, isSecure: isSecure, host: try SourceAddress.host(host), port: port,
        path: String(path).spacesEncoded)
      return (url, credentials)
    } catch {
      // In 'rtsp://user:pass/word@host' the error would show part of the password as a port.
      guard credentials == nil, path.contains("@") else { throw error }
      throw .unescapedCredentials
    }
  }

  /// The URL of a SOURCE argument, and its credentials: user name and password in the URL take
  /// precedence over those `configured`.
  ///
  /// - Throws: ``TransportError/source(_:_:)``.
  static func parse(
    source: String, as family: Family, configured: Credentials?
  ) throws(TransportError) -> (url: ServerURL, Credentials?) {
    do throws(SourceFault) {
      var (url, named) = try parse(source, as: family)
      if named?.password.isEmpty == true, let configured { named?.password = configured.password }
      return (url, named ?? configured)
    } catch { throw .source(source, error) }
  }

  /// Splits the text before the `@` at its first colon; `nil` if it is empty.
  static func credentials(_ text: Substring) -> Credentials? {
    guard !text.isEmpty else { return nil }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let words = parts.map { String($0).percentDecoded }
    return Credentials(user: words.first ?? "", password: words.dropFirst().first ?? "")
  }

  private init(family: Family, isSecure: Bool, host: String, port: Int, path: String) {
    self.family = family
    self.isSecure = isSecure
    self.host = host
    self.port = port
    self.path = path
  }

  /// Bytes; the longest URLs of cameras have about three hundred.
  static let maximumLength = 4 << 10
}

extension ServerURL: CustomStringConvertible {
  /// The URL as in requests and for people, without the default port.
  ///
  /// The zone of a link-local address is valid on this machine only (RFC 6874 §1).
  var description: String { origin + path }

  /// Scheme, host and port.
  var origin: String {
    let isDefault = port == family.defaultPort(isSecure: isSecure)
    let scheme = isSecure ? family.secureScheme : family.scheme
    let name = String(host.prefix { $0 != "%" })
    return scheme + "://" + Self.endpoint(name, isDefault ? nil : port)
  }

  /// `host:port`, an IPv6 address in brackets.
  static func endpoint(_ host: String, _ port: Int?) -> String {
    host.hostInURL + (port.map { ":\($0)" } ?? "")
  }

  /// An address for people, without any user name and password.
  static func withoutUser(_ address: String) -> String {
    let argument = SourceArgument(address)
    // Even without a valid login, whatever looks like one is left out, and passwords in the path.
    return (argument.hasLogin ? SourceArgument(argument.bare) : argument).shown.printable
  }

  /// The interface number of a link-local address.
  var zone: Int? {
    guard let percent = host.firstIndex(of: "%") else { return nil }
    let name = String(host[percent...].dropFirst())
    let number = unsafe Int(name) ?? Int(if_nametoindex(name))
    return number > 0 ? number : nil
  }
}

extension String {
  /// The text with each `%XX` decoded (RFC 3986 §2.1).
  ///
  /// A percent sign before anything else is literal: people forget to encode it in passwords.
  var percentDecoded: String {
    guard utf8.contains(UInt8(ascii: "%")) else { return self }
    var bytes: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        rest = rest.dropFirst(2)
        bytes.append(UInt8(truncatingIfNeeded: digits[0] << 4 | digits[1]))
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  fileprivate var hasControlCharacter: Bool { utf8.contains { $0 < 0x20 || $0 == 0x7F } }

  /// The text for a request line, with spaces encoded.
  var spacesEncoded: String {
    contains(" ")
      ? split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
      : self
  }
}
