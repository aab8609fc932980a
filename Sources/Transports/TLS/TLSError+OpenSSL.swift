internal import COpenSSL
internal import RTPWire

extension TLSError {
  /// The meaning of what OpenSSL reports for a connection to `host`.
  init(_ fault: TLSSession.Fault, host: String) {
    if Self.reason(in: fault.code) == SSL_R_CERTIFICATE_VERIFY_FAILED {
      self.init(refusal: fault.verification, host: host, certificate: fault.certificate)
    } else {
      self = TLSError(code: fault.code) ?? .handshakeFailed(reason: fault.words.printable)
    }
  }

  /// The meaning of an error that others quote as OpenSSL prints it (ERR_error_string(3)):
  /// `error:0A00010B:SSL routines::wrong version number`; `nil` if there is none, or no meaning.
  init?(quotedIn words: String) {
    let fields = words.split(separator: ":", omittingEmptySubsequences: false)
    let codes = zip(fields, fields.dropFirst()).lazy.compactMap { label, code in
      label.hasSuffix("error") && code.utf8.count == 8 ? UInt(code, radix: 16) : nil
    }
    guard let error = codes.compactMap({ TLSError(code: $0) }).first else { return nil }
    self = error
  }

  /// The meaning of an error of OpenSSL by its packed code; `nil` if it says nothing to people.
  private init?(code: UInt) {
    guard let reason = Self.reason(in: code), let meaning = Self.meanings[reason] else {
      return nil
    }
    self = meaning
  }

  /// The `SSL_R_…` in a packed code; `nil` if that is not of OpenSSL's TLS.
  private static func reason(in code: UInt) -> CInt? {
    ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : nil
  }

  private static let meanings: [CInt: TLSError] = [
    SSL_R_WRONG_VERSION_NUMBER: .notEncrypted,
    SSL_R_HTTP_REQUEST: .notEncrypted,
    SSL_R_PACKET_LENGTH_TOO_LONG: .notEncrypted,
    SSL_R_UNSUPPORTED_PROTOCOL: .protocolTooOld,
    SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: .protocolTooOld,
    SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: .clientCertificateWanted,
    SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: .handshakeRefused,
    SSL_R_SSLV3_ALERT_BAD_CERTIFICATE: .clientCertificateWanted,
    SSL_R_TLSV1_ALERT_UNKNOWN_CA: .clientCertificateWanted,
  ]

  /// Why OpenSSL refused a certificate, by its `X509_V_ERR_…`.
  init(refusal: Int, host: String, certificate: TLSCertificate?) {
    let fingerprint = certificate?.fingerprint.hexadecimal
    switch CInt(truncatingIfNeeded: refusal) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      self = .certificateExpired(host: host, days: certificate?.daysSinceEnd)
    case X509_V_ERR_CERT_NOT_YET_VALID:
      self = .certificateNotYetValid(host: host, days: certificate?.daysUntilStart)
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      self = certificate?.hasNames == false ? .withoutNames(host: host) : .wrongHost(host)
    case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK:
      self = .weakCertificate(host: host)
    case X509_V_ERR_APPLICATION_VERIFICATION:
      self = .otherCertificate(fingerprint: fingerprint ?? "unreadable")
    default: self = .untrusted(host: host, fingerprint: fingerprint)
    }
  }
}
