/// Why there is no encrypted connection; each description says what to try.
public enum TLSError: Error, Sendable, Hashable {
  /// The server's certificate expired this many days ago.
  case certificateExpired(host: String, days: Int?)
  /// The server's certificate becomes valid in this many days.
  case certificateNotYetValid(host: String, days: Int?)
  /// The certificate is for other hosts.
  case wrongHost(String)
  /// The certificate names its host only in the common name.
  case withoutNames(host: String)
  /// The certificate, or one that signed it, has a key or a signature that is not safe.
  case weakCertificate(host: String)
  /// The certificate is self-signed, or signed by an unknown authority; with its SHA-256 in
  /// hexadecimal, if the TLS library provides it.
  case untrusted(host: String, fingerprint: String?)
  /// The certificate is not the pinned one; this is its SHA-256.
  case otherCertificate(fingerprint: String)
  /// The server wants a client certificate, but got none, or a wrong one.
  case clientCertificateWanted
  /// The server refuses the handshake without a reason: before TLS 1.3 it may want a certificate.
  case handshakeRefused
  /// The answer on the port is not TLS.
  case notEncrypted
  /// The server does not support TLS 1.2 or later.
  case protocolTooOld
  /// The handshake did not finish within this many seconds.
  case handshakeTimedOut(seconds: Int)
  /// The server closed the connection in the middle of the handshake.
  case closedInHandshake
  /// Any other error, in the TLS library's words.
  case handshakeFailed(reason: String)
  /// A file of certificates or keys cannot be read, or has the wrong content.
  case fileUnusable(path: String)
  /// This machine has no list of authorities.
  case noAuthorities
  /// A certificate and its key do not belong together.
  case keyMismatch
}

extension TLSError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .certificateExpired(let host, let days):
      let since = days.map { " \($0) day\($0 == 1 ? "" : "s") ago" } ?? ""
      return "the certificate of \(host) expired\(since); renew it on the server, "
        + "or pin it with --tls-pin"
    case .certificateNotYetValid(let host, let days):
      let since =
        days.map { "is not valid for another \($0) day\($0 == 1 ? "" : "s")" } ?? "is not valid yet"
      return "the certificate of \(host) \(since); "
        + "check the clocks of this machine and of the server"
    case .wrongHost(let host):
      return "the server's certificate is not for \(host); use the name in the certificate, "
        + "or pin it with --tls-pin"
    case .withoutNames(let host):
      return "the certificate of \(host) has no subject alternative names; "
        + "have a new one issued, or pin it with --tls-pin"
    case .weakCertificate(let host):
      return "the certificate of \(host) is not safe, by its key or by an authority's; "
        + "have a new one issued, or pin it with --tls-pin"
    case .untrusted(let host, let fingerprint):
      return "the certificate of \(host) is self-signed, or signed by an authority that is unknown "
        + "here; give the authority with --tls-ca, or trust this one certificate "
        + "with --tls-pin \(fingerprint ?? "and its SHA-256")"
    case .otherCertificate(let fingerprint):
      return "the server's certificate is not the pinned one, but \(fingerprint); "
        + "if the server has a new one, change --tls-pin"
    case .clientCertificateWanted:
      return "the server wants a client certificate, and got none or a wrong one; "
        + "give one with --tls-certificate and --tls-key"
    case .handshakeRefused:
      return
        "the server refuses the encrypted connection; it may want a client certificate "
        + "(--tls-certificate and --tls-key), or support no safe cipher"
    case .notEncrypted:
      return "the server does not answer with TLS on this port; "
        + "try the URL without TLS (rtsp://, http://), or another port"
    case .protocolTooOld:
      return "the server supports only TLS before 1.2, which is not safe; update its firmware, "
        + "or use no TLS in a trusted network"
    case .handshakeTimedOut(let seconds):
      return "the server did not finish the TLS handshake within \(seconds) s; "
        + "check that it speaks TLS on this port: try the URL without TLS, or another port"
    case .closedInHandshake:
      return "the server closed the connection during the TLS handshake; "
        + "check that it speaks TLS on this port: try the URL without TLS, or another port"
    case .handshakeFailed(let reason):
      return "there is no encrypted connection (\(reason)); check the server's settings for TLS"
    case .fileUnusable(let path):
      return "\(path) cannot be read, or contains no PEM certificate or key"
    case .noAuthorities:
      return "this machine knows no certificate authorities; install the package ca-certificates, "
        + "or give a file with --tls-ca"
    case .keyMismatch:
      return "the certificate and its key do not belong together"
    }
  }
}

extension TLSError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .handshakeRefused, .handshakeTimedOut, .closedInHandshake, .handshakeFailed: .transient
    // A board without a battery-backed clock learns the time only some seconds after starting.
    case .certificateNotYetValid: .transient
    case .certificateExpired, .wrongHost, .withoutNames, .weakCertificate, .untrusted,
      .otherCertificate, .clientCertificateWanted, .notEncrypted, .protocolTooOld, .fileUnusable,
      .noAuthorities, .keyMismatch:
      .permanent
    }
  }

  public var outcome: TransportOutcome? {
    switch self {
    case .fileUnusable, .keyMismatch: .usage
    case .clientCertificateWanted: .credentials
    default: .notTrusted
    }
  }
}
