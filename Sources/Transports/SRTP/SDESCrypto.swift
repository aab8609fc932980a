/// An `a=crypto` line of a session description: a suite, its keys and the session parameters (RFC
/// 4568 §9).
///
/// ```
/// a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:<key and salt>|2^20|1:4;inline:… UNENCRYPTED_SRTCP
/// ```
/// It is read from bytes only, since a `String` cannot be wiped.
public struct SDESCrypto: Sendable, Hashable {
  public let suite: SRTPSuite
  public let keys: [SRTPKeyMaterial]
  /// Whether SRTCP comes unencrypted.
  public private(set) var hasReadableControl = false

  /// Reads the text after `a=crypto:`.
  ///
  /// - Throws: why the line cannot be used.
  init(_ value: ArraySlice<UInt8>) throws(SDESFault) {
    let words = value.split { $0 == 0x20 || $0 == 0x09 }
    // Some senders write a space before the tag: 'a=crypto: 1 …'.
    guard words.count >= 3, words[0].allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw .malformed
    }
    guard let suite = SRTPSuite(name: words[1]) else { throw .unknownSuite }
    self.suite = suite
    var keys: [SRTPKeyMaterial] = []
    for parameter in words[2].split(separator: UInt8(ascii: ";")) {
      guard keys.count < SRTPSession.maximumKeys else { throw .malformed }
      keys.append(try Self.key(parameter, for: suite))
    }
    guard !keys.isEmpty else { throw .malformed }
    self.keys = keys
    for word in words.dropFirst(3) { try readSessionParameter(word) }
  }

  /// Whether both say the same: the same keys for the same use.
  func isSame(as other: SDESCrypto) -> Bool {
    suite == other.suite && hasReadableControl == other.hasReadableControl
      && keys.elementsEqual(other.keys) { $0.isSameKey(as: $1) }
  }

  /// `inline:<key and salt>[|<lifetime>][|<identifier>:<its length>]` (§6.1).
  private static func key(
    _ parameter: ArraySlice<UInt8>, for suite: SRTPSuite
  ) throws(SDESFault) -> SRTPKeyMaterial {
    let method = Array("inline:".utf8)
    guard parameter.starts(with: method) else { throw .malformed }
    let parts = parameter.dropFirst(method.count).split(
      separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
    guard let first = parts.first, parts.count <= 3, let secret = SecretBytes(base64: first) else {
      throw .malformed
    }
    var identifier: [UInt8] = []
    // The lifetime, '2^20' or a number, is the sender's business.
    for part in parts.dropFirst() where part.contains(UInt8(ascii: ":")) {
      guard let read = Self.identifier(part) else { throw .malformed }
      identifier = read
    }
    do throws(SRTPError) {
      return try SRTPKeyMaterial(suite: suite, keyAndSalt: secret, identifier: identifier)
    } catch { throw .keyLength }
  }

  /// Reads `value:length`, a decimal number and its length in bytes.
  private static func identifier(_ part: ArraySlice<UInt8>) -> [UInt8]? {
    let halves = String(decoding: part, as: UTF8.self).split(
      separator: ":", omittingEmptySubsequences: false)
    guard halves.count == 2, let value = UInt64(halves[0]), let length = Int(halves[1]),
      (1...SRTPKeyMaterial.longestIdentifier).contains(length),
      length >= 8 || value >> UInt64(8 * length) == 0
    else { return nil }
    return (0..<length).reversed().map { place in
      place < 8 ? UInt8(truncatingIfNeeded: value >> UInt64(8 * place)) : 0
    }
  }

  /// Reads a session parameter (§6.3); an unknown mandatory one makes the line unusable.
  private mutating func readSessionParameter(_ word: ArraySlice<UInt8>) throws(SDESFault) {
    let text = String(decoding: word.prefix(64), as: UTF8.self).uppercased()
    switch text {
    case "UNENCRYPTED_SRTCP": hasReadableControl = true
    case "UNENCRYPTED_SRTP", "UNAUTHENTICATED_SRTP": throw .unprotected
    case "KDR=0": break
    // WSH suggests a replay window; a dash marks a parameter as optional.
    case _ where text.hasPrefix("WSH=") || text.hasPrefix("-"): break
    default: throw .unknownParameter
    }
  }
}

/// Why an `a=crypto` line cannot be used; it never contains any text of the line.
public enum SDESFault: Error, Sendable, Hashable, CustomStringConvertible {
  case malformed
  case unknownSuite
  /// Key and salt do not have the suite's length, or the identifier is too long.
  case keyLength
  /// The media would come unencrypted or unauthenticated.
  case unprotected
  /// SRTCP would come unencrypted, or the suite is weak, and the user did not allow that.
  case weak
  /// An unknown mandatory parameter, such as KDR or FEC_KEY.
  case unknownParameter
  /// There is no such line.
  case missing

  public var description: String {
    switch self {
    case .malformed: "it does not follow RFC 4568"
    case .unknownSuite: "its suite is unknown"
    case .keyLength: "its key does not have the suite's length"
    case .unprotected: "it asks for media without encryption or authentication"
    case .weak:
      "it has a tag of 32 bits, no encryption, or readable reports; --srtp-allow-weak accepts that"
    case .unknownParameter: "it has an unknown parameter"
    case .missing: "there is none"
    }
  }
}
