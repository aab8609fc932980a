import RTPWire

/// An address in NATS: `nats://HOST[:PORT]/NAME[?KEY=VALUE&…]`, or `nats+tls://` with TLS.
///
/// A user name and a password are in the environment (``NATSLogin``), and not here.
public struct StreamAddress: Sendable, Hashable {
  /// The schemes without and with TLS.
  public static let schemes = ["nats", "nats+tls"]
  /// Bytes of the longest address.
  private static let longest = 1024
  private static let defaultPort = 4222

  public let isSecure: Bool
  /// A name or an address, without brackets.
  public let host: String
  public let port: Int
  /// Of the camera, or of the cluster: letters, digits, `-` and `_`; 64 at most.
  public let name: String
  /// What follows the question mark.
  public let options: [String: String]

  /// Reads `text`, whose query may have the keys `known`.
  ///
  /// - Throws: ``JetStreamError/address(_:)``, without any password.
  public init(
    parsing text: String, known: Set<String>, defaultName: String? = nil
  ) throws(JetStreamError) {
    guard text.utf8.count <= Self.longest else { throw Self.fault("it is too long") }
    guard let end = text.firstRange(of: "://") else {
      throw Self.fault("it has no scheme, as in nats://host/camera")
    }
    let scheme = text[..<end.lowerBound].lowercased()
    guard Self.schemes.contains(scheme) else { throw Self.fault("its scheme is not nats://") }
    isSecure = scheme != Self.schemes[0]
    let rest = text[end.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.contains("@") else {
      throw Self.fault(
        "a user name and a password are given in NATS_USER and NATS_PASSWORD of the environment")
    }
    (host, port) = try Self.endpoint(authority)
    let parts = rest[authority.endIndex...].split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = (parts.first ?? "").drop { $0 == "/" }
    let name = path.isEmpty ? defaultName : String(path)
    guard let name else { throw Self.fault("the camera is missing, as in nats://host/camera") }
    guard Self.isName(name) else {
      throw Self.fault("a name in NATS has 1 to 64 letters, digits, '-' and '_'")
    }
    self.name = name
    var options: [String: String] = [:]
    for pair in (parts.dropFirst().first ?? "").split(separator: "&") {
      let words = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let key = String(words.first ?? "")
      guard known.contains(key) else {
        throw Self.fault(
          known.isEmpty
            ? "nothing follows a '?' here"
            : "behind '?' there are \(known.sorted().joined(separator: ", "))")
      }
      options[key] = words.count > 1 ? String(words[1]) : ""
    }
    self.options = options
  }

  /// The address as libnats takes it.
  var url: String { (isSecure ? "tls://" : "nats://") + endpoint }

  /// `host:port`, for people.
  public var endpoint: String { "\(host.hostInURL):\(port)" }

  static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
          || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x5F
      }
  }

  private static func endpoint(
    _ text: Substring
  ) throws(JetStreamError) -> (host: String, port: Int) {
    var host = text
    var digits: Substring?
    if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
      host = text[..<bracket].dropFirst()
      let tail = text[bracket...].dropFirst()
      if tail.hasPrefix(":") { digits = tail.dropFirst() }
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      digits = text[colon...].dropFirst()
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw Self.fault("the host is missing, as in nats://host/camera")
    }
    guard let digits else { return (String(host), defaultPort) }
    guard let port = UInt16(digits), port > 0 else {
      throw Self.fault("'\(digits.prefix(20))' is not a port")
    }
    return (String(host), Int(port))
  }

  private static func fault(_ words: String) -> JetStreamError { .address(words) }
}

extension StreamAddress {
  /// A time such as `90s`, `5m` or `2h`, or a number of seconds; `nil` if it is none.
  static func duration(_ text: String) -> Duration? {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    let unit = text.last.flatMap { units[$0] }
    guard let number = Int64(unit == nil ? text[...] : text.dropLast()),
      (1...31_536_000).contains(number)
    else { return nil }
    let (seconds, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
    return overflow || seconds > 31_536_000 ? nil : .seconds(seconds)
  }

  /// A number of bytes such as `500MiB`, `2GiB` or `1GB`; `nil` if it is none.
  static func bytes(_ text: String) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let units: [String: Int64] = [
      "": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 1000,
      "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
    ]
    guard let number = Int64(digits), number > 0,
      let unit = units[String(text[digits.endIndex...])]
    else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? nil : bytes
  }
}
