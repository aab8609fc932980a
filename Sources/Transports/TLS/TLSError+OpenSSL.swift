internal import COpenSSL

extension TLSError {
  /// The meaning of what OpenSSL reports for a connection to `host`.
  init(_ fault: TLSSession.Fault, host: String) {
    if fault.words == "certificate verify failed" {
      self.init(refusal: fault.verification, host: host, certificate: fault.certificate)
    } else {
      self = TLSError(namedIn: fault.words) ?? .handshakeFailed(reason: fault.words.printable)
    }
  }

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
