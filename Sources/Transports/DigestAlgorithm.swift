internal import COpenSSL
internal import RTPWire

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

  /// The hash of `bytes` in lower-case hexadecimal; `nil` only when memory is exhausted or OpenSSL
  /// is not allowed to compute it, as MD5 where only FIPS 140 is.
  func hexadecimal(of bytes: [UInt8]) -> String? { digest(of: bytes)?.hexadecimal }

  /// The hash of `bytes`; `nil` in the same cases.
  func digest(of bytes: [UInt8]) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let isDone = unsafe EVP_Digest(bytes, bytes.count, &digest, &count, function, nil)
    return isDone == 1 ? Array(digest.prefix(Int(count))) : nil
  }

  private var function: OpaquePointer? {
    switch self {
    case .md5: unsafe EVP_md5()
    case .sha256: unsafe EVP_sha256()
    case .sha512Slash256: unsafe EVP_sha512_256()
    }
  }
}
