internal import NIOCore

/// A SOURCE argument in parts: `[scheme://][source@]host:port`, an IPv6 address in brackets.
struct SourceAddress: Sendable, Hashable {
  /// In lower case; `nil` if the argument is no URL.
  let scheme: String?
  /// The part before an `@`: the only accepted sender of a multicast group.
  let source: String?
  /// Without brackets; `nil` if nothing precedes the port.
  let host: String?
  /// Whether it begins with an `@`: VLC writes `udp://@:5004` for listening.
  let isForListening: Bool
  /// 0 … 65535; 0 asks the kernel for a free port, which only a listener can do.
  let port: Int

  /// Whether it names a port to listen on, whatever its scheme is for.
  ///
  /// Other players listen on 'udp://:5004', 'udp://@:5004' and 'udp://239.1.2.3:5004'.
  var listens: Bool { host == nil || isForListening || isGroup }

  /// Whether the host is a multicast group.
  var isGroup: Bool {
    host.flatMap { try? SocketAddress(ipAddress: $0, port: port) }?.isMulticast ?? false
  }

  /// The scheme of a URL in lower case, or `nil` if `text` is none.
  static func scheme(of text: String) -> String? {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].hasPrefix("//"), !parts[0].isEmpty else { return nil }
    return parts[0].lowercased()
  }

  /// - Throws: ``TransportError/source(_:_:)`` with what is wrong.
  init(parsing text: String) throws(TransportError) {
    scheme = Self.scheme(of: text)
    var rest = text[...]
    if let scheme { rest = rest.dropFirst(scheme.count + 3) }
    do throws(SourceFault) {
      var source: String?
      isForListening = rest.hasPrefix("@")
      if let at = rest.lastIndex(of: "@") {
        // VLC writes 'rtp://@:5004' and 'rtp://@239.1.2.3:5004' for listening.
        if at > rest.startIndex {
          // Anything but an address may be a password, which must not be shown.
          do { source = try Self.host(rest[..<at]) } catch { throw SourceFault.sourceWithoutGroup }
        }
        rest = rest[at...].dropFirst()
      }
      self.source = source
      (host, port) = try Self.endpoint(rest)
    } catch { throw .source(text, error) }
  }

  /// Splits `host:port`, `[address]:port` or `:port`.
  static func endpoint(_ text: Substring) throws(SourceFault) -> (String?, Int) {
    let (host, rest) = try divide(text)
    guard let rest else { throw .missingPort }
    let digits = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !digits.isEmpty else { throw .missingPort }
    let port = try Self.port(digits)
    let tail = rest[digits.endIndex...]
    guard tail.isEmpty || tail == "/" else { throw .unexpectedTail(String(tail)) }
    return (host.isEmpty ? nil : try Self.host(host), port)
  }

  /// Splits a text at the colon after the host; `nil` if nothing follows the host.
  static func divide(_ text: Substring) throws(SourceFault) -> (host: Substring, rest: Substring?) {
    if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
      let end = text.index(after: bracket)
      guard end < text.endIndex, text[end] == ":" else { return (text, nil) }
      return (text[..<end], text[end...].dropFirst())
    }
    guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
    let rest = text[colon...].dropFirst()
    // More than one colon means an IPv6 address without brackets.
    guard !rest.contains(":") else { throw .invalidHost(String(text)) }
    return (text[..<colon], rest)
  }

  /// A port, 0 … 65535.
  static func port(_ digits: Substring) throws(SourceFault) -> Int {
    guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = Int(digits), (0...65_535).contains(port)
    else { throw .invalidPort(String(digits)) }
    return port
  }

  /// A host name, an IPv4 address, or an IPv6 address with or without brackets.
  static func host(_ text: Substring) throws(SourceFault) -> String {
    var bare = text
    let isBracketed = bare.hasPrefix("[") && bare.hasSuffix("]")
    if isBracketed { bare = bare.dropFirst().dropLast() }
    // RFC 6874 writes the percent sign of a zone as %25.
    let marker = bare.contains("%25") ? "%25" : "%"
    let name = isBracketed ? bare.split(separator: marker).joined(separator: "%") : String(bare)
    let isValid = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
        UInt8(ascii: "_"), 0x80...:
        return true
      case UInt8(ascii: ":"), UInt8(ascii: "%"): return isBracketed
      default: return false
      }
    }
    guard isValid, !name.isEmpty, name.utf8.count <= maximumHost,
      !isBracketed || isIPv6Address(name.prefix { $0 != "%" })
    else { throw .invalidHost(String(text)) }
    return name
  }

  private static func isIPv6Address(_ text: Substring) -> Bool {
    (try? SocketAddress(ipAddress: String(text), port: 0))?.protocol == .inet6
  }

  /// Bytes of the longest DNS name (RFC 1035 §2.3.4).
  static let maximumHost = 255
}
