internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// The client side of TLS 1.2 or later, set up by a ``TLSConfiguration``.
struct TLSClient: Sendable {
  private let context: NIOSSLContext
  /// The pinned SHA-256, in hexadecimal.
  private let pin: String?
  private let acceptsAnything: Bool

  /// Reads the files and the system's authorities off the event loop, because it takes
  /// milliseconds.
  static func make(
    _ configuration: TLSConfiguration, on eventLoop: any EventLoop
  ) -> EventLoopFuture<TLSClient> {
    NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { try TLSClient(configuration) }
  }

  init(_ configuration: TLSConfiguration) throws(TLSError) {
    pin = configuration.pin?.hexadecimal
    acceptsAnything = configuration.acceptsAnything
    var settings = NIOSSL.TLSConfiguration.makeClientConfiguration()
    settings.minimumTLSVersion = .tlsv12
    // The longest that a server that does not answer TLS's closing may keep the descriptor.
    settings.shutdownTimeout = .seconds(1)
    if configuration.acceptsAnything || pin != nil {
      // The chain does not matter, so no authorities are loaded. A pinned certificate is compared.
      settings.trustRoots = .certificates([])
      settings.certificateVerification = pin == nil ? .none : .noHostnameVerification
    } else if let path = configuration.authorities {
      settings.trustRoots = .certificates(try Self.certificates(in: path))
    }
    if let path = configuration.clientCertificate {
      settings.certificateChain = try Self.certificates(in: path).map { .certificate($0) }
      // One file may hold both certificate and key.
      let keyPath = configuration.clientKey ?? path
      guard let key = try? NIOSSLPrivateKey(file: keyPath, format: .pem) else {
        throw .fileUnusable(path: keyPath)
      }
      settings.privateKey = .privateKey(key)
    }
    do {
      context = try NIOSSLContext(configuration: settings)
    } catch {
      throw settings.certificateChain.isEmpty ? .noAuthorities : .clientKeyMismatch
    }
  }

  /// Makes the handler that encrypts a connection to `host` and verifies its name or address.
  func makeHandler(for host: String) throws -> NIOSSLClientHandler {
    // An address cannot be sent as a server name (RFC 6066 §3). Without a name, SwiftNIO looks for
    // the address of the connection in the certificate.
    let name = Self.isAddress(host) ? nil : host
    guard let pin else { return try NIOSSLClientHandler(context: context, serverHostname: name) }
    return try NIOSSLClientHandler(context: context, serverHostname: name) { chain, promise in
      promise.succeed(Self.fingerprint(of: chain.first) == pin ? .certificateVerified : .failed)
    }
  }

  /// Whether a certificate that SwiftNIO has verified was issued to `host`.
  ///
  /// SwiftNIO also accepts a certificate for the address connected to. But whoever forges the DNS
  /// answer can have a certificate for the forged address. So a name must be among the names.
  func accepts(_ certificate: NIOSSLCertificate?, for host: String) -> Bool {
    guard !acceptsAnything, pin == nil, !Self.isAddress(host) else { return true }
    let alternatives = certificate?._subjectAlternativeNames() ?? nil
    return alternatives?.contains { alternative in
      alternative.nameType == .dnsName
        && Self.matches(String(decoding: alternative.contents, as: UTF8.self), host)
    } ?? false
  }

  /// Whether a certificate lacks names although names are to be compared.
  ///
  /// SwiftNIO and libcurl would then compare the common name, which RFC 9525 §2 no longer allows:
  /// an authority may sign any text there.
  func lacksNames(_ certificate: NIOSSLCertificate?) -> Bool {
    !acceptsAnything && pin == nil && !Self.hasNames(certificate)
  }

  static func hasNames(_ certificate: NIOSSLCertificate?) -> Bool {
    let alternatives = certificate?._subjectAlternativeNames() ?? nil
    return !(alternatives?.isEmpty ?? true)
  }

  /// Whether `pattern`, whose first label may be `*`, matches `host` (RFC 9525 §6.3).
  static func matches(_ pattern: String, _ host: String) -> Bool {
    func labels(_ name: String) -> [Substring] {
      let name = name.lowercased()
      return name.dropLast(name.hasSuffix(".") ? 1 : 0)
        .split(separator: ".", omittingEmptySubsequences: false)
    }
    let (pattern, host) = (labels(pattern), labels(host))
    guard pattern.first == "*" else { return pattern == host }
    // A wildcard stands for exactly one label, and never directly before a top-level domain.
    return pattern.count > 2 && pattern.count == host.count
      && pattern.dropFirst() == host.dropFirst()
  }

  private static func isAddress(_ host: String) -> Bool {
    (try? SocketAddress(ipAddress: host, port: 0)) != nil || host.contains("%")
  }

  /// The meaning of an error that SwiftNIO reports for a connection to `host`.
  ///
  /// `certificate` is the server's, if it was received. The result is `nil` when the server closed
  /// the connection.
  func reason(
    for error: any Error, host: String, certificate: NIOSSLCertificate?
  ) -> (any Error)? {
    if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
      return TLSError.wrongHost(host)
    }
    var stack: NIOBoringSSLErrorStack = []
    switch error {
    case NIOSSLError.unableToValidateCertificate, NIOSSLError.cannotFindPeerIP:
      return TLSError.wrongHost(host)
    case NIOSSLError.uncleanShutdown: return nil
    case NIOSSLError.handshakeFailed(.sslError(let errors)), BoringSSLError.sslError(let errors):
      stack = errors
    // Some servers reset a connection whose beginning they do not understand.
    case is IOError: return nil
    default: return error
    }
    if stack.contains(.eofDuringHandshake) { return nil }
    // BoringSSL's error codes do not reach Swift, but their names do.
    let words = stack.map(\.description).joined(separator: " ")
    if let reason = TLSError(namedIn: words) { return reason }
    guard words.contains("CERTIFICATE_VERIFY_FAILED") else {
      return TLSError.handshakeFailed(reason: Self.name(in: words))
    }
    return refusal(of: certificate, host: host)
  }

  /// Finds out why a certificate was refused, because BoringSSL does not say.
  private func refusal(of certificate: NIOSSLCertificate?, host: String) -> TLSError {
    guard let certificate, let fingerprint = Self.fingerprint(of: certificate) else {
      return .handshakeFailed(reason: "no certificate")
    }
    if pin != nil { return .otherCertificate(fingerprint: fingerprint) }
    let now = time(nil)
    if certificate.notValidAfter < now {
      return .certificateExpired(host: host, days: Self.days(certificate.notValidAfter, now))
    }
    if certificate.notValidBefore > now {
      return .certificateNotYetValid(host: host, days: Self.days(now, certificate.notValidBefore))
    }
    return .untrusted(host: host, fingerprint: fingerprint)
  }

  /// The days from one time to another, a started one included, for any times in a certificate.
  private static func days(_ start: time_t, _ end: time_t) -> Int {
    let (seconds, overflow) = end.subtractingReportingOverflow(start)
    return overflow ? .max : seconds / 86_400 + 1
  }

  static func fingerprint(of certificate: NIOSSLCertificate?) -> String? {
    guard let bytes = try? certificate?.toDERBytes() else { return nil }
    return DigestAlgorithm.sha256.digest(of: bytes)?.hexadecimal
  }

  private static func certificates(in path: String) throws(TLSError) -> [NIOSSLCertificate] {
    guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
      throw .fileUnusable(path: path)
    }
    return certificates
  }

  /// The name in 'Error: <number> error:<code>:SSL routines:<where>:<name> at <file>'.
  private static func name(in words: String) -> String {
    let end = words.firstRange(of: " at ")?.lowerBound ?? words.endIndex
    return String(words[..<end].split(separator: ":").last ?? "unknown").printable
  }
}
