/// How packets are encrypted and authenticated: a crypto suite of RFC 4568, RFC 6188 or RFC 7714.
public enum SRTPSuite: String, Sendable, Hashable, CaseIterable {
  case aesCM128SHA1Tag80 = "AES_CM_128_HMAC_SHA1_80"
  case aesCM128SHA1Tag32 = "AES_CM_128_HMAC_SHA1_32"
  case aesCM256SHA1Tag80 = "AES_256_CM_HMAC_SHA1_80"
  case aesCM256SHA1Tag32 = "AES_256_CM_HMAC_SHA1_32"
  case aesGCM128 = "AEAD_AES_128_GCM"
  case aesGCM256 = "AEAD_AES_256_GCM"
  /// Authenticated, but readable by anybody (RFC 5764 §4.1.2).
  case nullSHA1Tag80 = "NULL_HMAC_SHA1_80"
  case nullSHA1Tag32 = "NULL_HMAC_SHA1_32"

  /// The suite of that name, in any spelling in use.
  public init?(_ name: some StringProtocol) {
    self.init(name: name.utf8)
  }

  /// The suite of that name, given as UTF-8.
  init?(name: some Sequence<UInt8>) {
    var spelling = String(
      decoding: name.prefix(Self.longestName).map { $0 == UInt8(ascii: "-") ? 0x5F : $0 },
      as: UTF8.self
    ).uppercased()
    // The names of DTLS-SRTP's profiles (RFC 5764 §4.1.2, RFC 7714 §14.2).
    if spelling.hasPrefix("SRTP_") { spelling.removeFirst(5) }
    guard let suite = Self(rawValue: spelling) ?? Self.otherSpellings[spelling] else { return nil }
    self = suite
  }

  /// The name in its RFC.
  public var name: String { rawValue }

  /// Bytes of the master key.
  public var keyLength: Int {
    switch self {
    case .aesCM256SHA1Tag80, .aesCM256SHA1Tag32, .aesGCM256: 32
    case .aesCM128SHA1Tag80, .aesCM128SHA1Tag32, .aesGCM128, .nullSHA1Tag80, .nullSHA1Tag32: 16
    }
  }

  /// Bytes of the master salt (RFC 3711 §8.2, RFC 7714 §12).
  public var saltLength: Int { isAEAD ? 12 : 14 }

  /// Whether one operation encrypts and authenticates (RFC 7714).
  var isAEAD: Bool { self == .aesGCM128 || self == .aesGCM256 }

  /// Whether the suite does not encrypt.
  var isReadable: Bool { self == .nullSHA1Tag80 || self == .nullSHA1Tag32 }

  /// Whether the tag has only 32 bits, which makes forging feasible.
  var hasShortTag: Bool {
    switch self {
    case .aesCM128SHA1Tag32, .aesCM256SHA1Tag32, .nullSHA1Tag32: true
    case .aesCM128SHA1Tag80, .aesCM256SHA1Tag80, .nullSHA1Tag80, .aesGCM128, .aesGCM256: false
    }
  }

  /// Bytes of SRTP's authentication tag.
  var tagLength: Int { isAEAD ? 16 : hasShortTag ? 4 : 10 }

  /// Bytes of SRTCP's authentication tag, which is never the short one (RFC 3711 §5.2).
  var controlTagLength: Int { isAEAD ? 16 : 10 }

  private static let otherSpellings: [String: SRTPSuite] = [
    // RFC 5764 and FFmpeg.
    "AES128_CM_HMAC_SHA1_80": .aesCM128SHA1Tag80, "AES128_CM_HMAC_SHA1_32": .aesCM128SHA1Tag32,
    // The drafts of RFC 6188, libsrtp and Asterisk.
    "AES_CM_256_HMAC_SHA1_80": .aesCM256SHA1Tag80, "AES_CM_256_HMAC_SHA1_32": .aesCM256SHA1Tag32,
    "AES256_CM_HMAC_SHA1_80": .aesCM256SHA1Tag80, "AES256_CM_HMAC_SHA1_32": .aesCM256SHA1Tag32,
    // GStreamer's 'srtp-cipher' and 'srtp-auth' joined together.
    "AES_128_ICM_HMAC_SHA1_80": .aesCM128SHA1Tag80, "AES_128_ICM_HMAC_SHA1_32": .aesCM128SHA1Tag32,
    "AES_256_ICM_HMAC_SHA1_80": .aesCM256SHA1Tag80, "AES_256_ICM_HMAC_SHA1_32": .aesCM256SHA1Tag32,
    // GStreamer and libsrtp.
    "AES_128_GCM": .aesGCM128, "AES_256_GCM": .aesGCM256, "AES_GCM_128_16_AUTH": .aesGCM128,
    "AES_GCM_256_16_AUTH": .aesGCM256,
  ]

  /// Bytes; no suite has a longer name.
  private static let longestName = 64
}
