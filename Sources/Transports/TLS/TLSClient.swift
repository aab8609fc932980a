internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// The client's side of TLS 1.2 or later, as a ``TLSConfiguration`` wants it.
struct TLSClient: Sendable {
  private let context: NIOSSLContext
  /// SHA-256 in hexadecimal.
  private let pin: String?
  private let acceptsAnything: Bool

  /// Reads the files and the system's authorities, which takes milliseconds, off the event loop.
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
    // A server that does not answer to the end of TLS must not keep a descriptor for longer.
    settings.shutdownTimeout = .seconds(1)
    if configuration.acceptsAnything || pin != nil {
      // Nothing of a chain counts, so none is loaded. A pinned certificate is compared instead.
      settings.trustRoots = .certificates([])
      settings.certificateVerification = pin == nil ? .none : .noHostnameVerification
    } else if let path = configuration.authorities {
      settings.trustRoots = .certificates(try Self.certificates(in: path))
    }
    if let path = configuration.clientCertificate {
      settings.certificateChain = try Self.certificates(in: path).map { .certificate($0) }
      // One file may hold both.
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

  /// What encrypts a connection to `host`; verifies its name, or its address where it has no name.
  func makeHandler(for host: String) throws -> NIOSSLClientHandler {
    // An address can not be asked for by name (RFC 6066 §3); without a name, the one connected to
    // is looked for in the certificate.
    let name = Self.isAddress(host) ? nil : host
    guard let pin else { return try NIOSSLClientHandler(context: context, serverHostname: name) }
    return try NIOSSLClientHandler(context: context, serverHostname: name) { chain, promise in
      promise.succeed(Self.fingerprint(of: chain.first) == pin ? .certificateVerified : .failed)
    }
  }

  /// Whether a certificate that SwiftNIO has verified was issued to `host`.
  ///
  /// SwiftNIO takes the address connected to for as good as the name asked for. But whoever forges the
  /// name's address (DNS) has a certificate for that address, so a name has to be among the names.
  func accepts(_ certificate: NIOSSLCertificate?, for host: String) -> Bool {
    guard !acceptsAnything, pin == nil, !Self.isAddress(host) else { return true }
    let alternatives = certificate?._subjectAlternativeNames() ?? nil
    return alternatives?.contains { alternative in
      alternative.nameType == .dnsName
        && Self.matches(String(decoding: alternative.contents, as: UTF8.self), host)
    } ?? false
  }

  /// Whether a certificate has no names that could be compared, where they are to be.
  ///
  /// SwiftNIO and libcurl then compare the common name, which RFC 9525 §2 no longer allows: nothing keeps
  /// an authority from signing any text there.
  func lacksNames(_ certificate: NIOSSLCertificate?) -> Bool {
    !acceptsAnything && pin == nil && !Self.hasNames(certificate)
  }

  static func hasNames(_ certificate: NIOSSLCertificate?) -> Bool {
    let alternatives = certificate?._subjectAlternativeNames() ?? nil
    return !(alternatives?.isEmpty ?? true)
  }

  /// Whether `pattern`, whose first label may be `*`, names `host` (RFC 9525 §6.3).
  static func matches(_ pattern: String, _ host: String) -> Bool {
    func labels(_ name: String) -> [Substring] {
      let name = name.lowercased()
      return name.dropLast(name.hasSuffix(".") ? 1 : 0)
        .split(separator: ".", omittingEmptySubsequences: false)
    }
    let (pattern, host) = (labels(pattern), labels(host))
    guard pattern.first == "*" else { return pattern == host }
    // A wildcard stands for one label, and never for the whole of what somebody owns.
    return pattern.count > 2 && pattern.count == host.count
      && pattern.dropFirst() == host.dropFirst()
  }

  private static func isAddress(_ host: String) -> Bool {
    (try? SocketAddress(ipAddress: host, port: 0)) != nil || host.contains("%")
  }

  /// What an error that SwiftNIO reports of a connection to `host` means.
  ///
  /// `certificate` is the server's, if it came that far. `nil` stands for its having closed the
  /// connection.
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
    // Some servers reset a connection that begins in a way that they do not understand.
    case is IOError: return nil
    default: return error
    }
    if stack.contains(.eofDuringHandshake) { return nil }
    // BoringSSL's codes do not reach Swift, their names do.
    let words = stack.map(\.description).joined(separator: " ")
    if let reason = TLSError(namedIn: words) { return reason }
    guard words.contains("CERTIFICATE_VERIFY_FAILED") else {
      return TLSError.handshakeFailed(reason: Self.name(in: words))
    }
    return refusal(of: certificate, host: host)
  }

  /// Why a certificate was refused, which BoringSSL does not say.
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

  /// Days begun from one time to another; the times may be any that a certificate can hold.
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

  /// The last part of ‘Error: <number> error:<code>:SSL routines:<where>:<name> at <file>’.
  private static func name(in words: String) -> String {
    let end = words.firstRange(of: " at ")?.lowerBound ?? words.endIndex
    return String(words[..<end].split(separator: ":").last ?? "unknown").printable
  }
}
