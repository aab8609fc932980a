internal import CAVHash

/// A hash function of digest authentication (RFC 7616 §6.1), weakest first.
enum DigestAlgorithm: Int, Sendable, Hashable, Comparable, CaseIterable {
  case md5
  case sha256
  case sha512Slash256

  /// The algorithm of a challenge by its name without `-sess`, in any case.
  init?(name: some StringProtocol) {
    switch name.lowercased() {
    case "md5": self = .md5
    // Some firmware leaves the hyphens out.
    case "sha-256", "sha256": self = .sha256
    case "sha-512-256", "sha512-256": self = .sha512Slash256
    default: return nil
    }
  }

  static func < (left: DigestAlgorithm, right: DigestAlgorithm) -> Bool {
    left.rawValue < right.rawValue
  }

  /// The hash of `text` in UTF-8, in lower-case hexadecimal; `nil` only when memory is exhausted or
  /// libavutil was built without the function.
  func hexadecimal(of text: String) -> String? { digest(of: Array(text.utf8))?.hexadecimal }

  /// The hash of `bytes`; `nil` in the same cases.
  func digest(of bytes: [UInt8]) -> [UInt8]? {
    var computation: OpaquePointer?
    guard unsafe av_hash_alloc(&computation, name) >= 0, let hash = unsafe computation else {
      return nil
    }
    defer { unsafe av_hash_freep(&computation) }
    var digest = [UInt8](repeating: 0, count: Self.length)
    unsafe av_hash_init(hash)
    unsafe av_hash_update(hash, bytes, bytes.count)
    unsafe av_hash_final_bin(hash, &digest, Int32(digest.count))
    return Array(digest.prefix(self == .md5 ? 16 : Self.length))
  }

  /// libavutil's name of the function.
  private var name: String {
    switch self {
    case .md5: "MD5"
    case .sha256: "SHA256"
    case .sha512Slash256: "SHA512/256"
    }
  }

  /// Bytes of the longest digest; libavutil pads shorter ones with zeros.
  private static let length = 32
}

extension [UInt8] {
  /// Two digits for each byte, in lower case.
  var hexadecimal: String {
    reduce(into: "") { text, byte in
      if byte < 0x10 { text += "0" }
      text += String(byte, radix: 16)
    }
  }
}
