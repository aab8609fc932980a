internal import COpenSSL
internal import Glibc

/// What this project asks of a certificate.
package struct TLSCertificate: Sendable, Hashable {
  /// The SHA-256 of its DER, as `--tls-pin` takes it.
  package let fingerprint: [UInt8]
  /// Whether it has subject alternative names, the only ones compared (RFC 9525 §2).
  let hasNames: Bool
  /// Days since it expired and until it becomes valid, a started one included; negative before.
  let daysSinceEnd: Int?
  let daysUntilStart: Int?

  /// The first certificate in `pem`; `nil` if there is none.
  package init?(pem: String) {
    let text = Array(pem.utf8)
    guard let length = Int32(exactly: text.count) else { return nil }
    let certificate = unsafe text.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let memory = unsafe BIO_new_mem_buf(bytes.baseAddress, length) else { return nil }
      defer { unsafe BIO_free(memory) }
      // A certificate has no password to be asked for.
      return unsafe PEM_read_bio_X509(memory, nil, { _, _, _, _ in 0 }, nil)
    }
    guard let certificate = unsafe certificate else {
      ERR_clear_error()
      return nil
    }
    defer { unsafe X509_free(certificate) }
    unsafe self.init(certificate)
  }

  /// `certificate` is an `X509`, which stays its owner's.
  init?(_ certificate: OpaquePointer) {
    guard let fingerprint = unsafe Self.fingerprint(of: certificate) else { return nil }
    self.fingerprint = fingerprint
    hasNames = unsafe copenssl_has_names(certificate) != 0
    daysSinceEnd = unsafe Self.days(from: X509_get0_notAfter(certificate), to: nil)
    daysUntilStart = unsafe Self.days(from: nil, to: X509_get0_notBefore(certificate))
  }

  static func fingerprint(of certificate: OpaquePointer) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let succeeded = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
      unsafe X509_digest(certificate, EVP_sha256(), bytes.baseAddress, &length)
    }
    return succeeded == 1 && Int(length) == bytes.count ? bytes : nil
  }

  /// The days between two times, of which `nil` is now.
  private static func days(
    from start: UnsafePointer<ASN1_TIME>?, to end: UnsafePointer<ASN1_TIME>?
  ) -> Int? {
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard unsafe ASN1_TIME_diff(&days, &seconds, start, end) == 1 else { return nil }
    return Int(days) + 1
  }
}
