internal import CCurl
internal import Glibc
internal import NIOCore

/// How a transfer ended.
struct HTTPTransferEnd: Sendable {
  enum Outcome: Sendable {
    /// The server finished its response, which is a stream or the answer to a message.
    case complete
    /// The server redirects to another address.
    case redirected(to: String)
    case failed(any Error)
  }

  var outcome: Outcome
  var offers: HTTPLoginOffers
  /// The status of the last response, or 0.
  var status: Int

  init(of transfer: HTTPTransfer, code: CURLcode) {
    offers = HTTPLoginOffers(of: transfer)
    status = transfer.number(CURLINFO_RESPONSE_CODE)
    outcome = Self.outcome(of: transfer, code)
  }

  init(of transfer: HTTPTransfer, failure: HTTPError) {
    offers = HTTPLoginOffers(of: transfer)
    status = 0
    outcome = .failed(failure)
  }

  private static func outcome(of transfer: HTTPTransfer, _ code: CURLcode) -> Outcome {
    // What else goes wrong in an inspection says less than why there was one.
    if transfer.request.isInspection {
      return .failed(
        transfer.refusal as? TLSError
          ?? TLSError.untrusted(host: transfer.request.url.host, fingerprint: nil))
    }
    if let refusal = transfer.refusal { return .failed(refusal) }
    let status = transfer.number(CURLINFO_RESPONSE_CODE)
    guard code == CURLE_OK else { return .failed(error(of: transfer, code)) }
    if (300..<400).contains(status), let target = redirect(of: transfer) {
      return .redirected(to: target)
    }
    if transfer.request.message != nil { return .complete }
    switch status {
    case 200: return .complete
    case 401:
      let hasCredentials = transfer.request.credentials != nil
      return .failed(
        hasCredentials ? HTTPError.credentialsRefused : HTTPError.credentialsMissing)
    default:
      return .failed(transfer.objection ?? HTTPError.refused(status: status, retryAfter: nil))
    }
  }

  /// The error that a code of libcurl's means, for a person.
  private static func error(of transfer: HTTPTransfer, _ code: CURLcode) -> any Error {
    let url = transfer.request.url
    let words = transfer.words
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST:
      return TransportError.nameNotResolved(host: url.host, reason: "no such name")
    case CURLE_COULDNT_CONNECT:
      // With a proxy, the connection that failed is the one to the proxy.
      if transfer.request.configuration.proxy != nil {
        return HTTPError.proxyFailed(reason: "there is no connection to it")
      }
      let number = Int32(truncatingIfNeeded: transfer.number(CURLINFO_OS_ERRNO))
      let address = ServerURL.endpoint(url.host, url.port)
      if number == ECONNREFUSED { return TransportError.connectionRefused(address: address) }
      // An address that names its interface is not read here.
      let target = try? SocketAddress(ipAddress: url.host, port: 0)
      if number == EINVAL, target?.isLinkLocal == true {
        return TransportError.linkNotNamed(address: address)
      }
      let reason = number == 0 ? words : unsafe String(cString: strerror(number))
      return TransportError.notConnected(address: address, reason: reason)
    case CURLE_INTERFACE_FAILED:
      return TransportError.addressNotAvailable(
        address: transfer.request.sockets.bind?.host ?? "the address to bind")
    case CURLE_OPERATION_TIMEDOUT:
      let seconds = Int(HTTPTransfer.connectTime.components.seconds)
      // One code for all that takes too long, and no times before the connection is complete.
      return words.contains("SSL")
        ? TLSError.handshakeTimedOut(seconds: seconds)
        : HTTPError.connectTimedOut(seconds: seconds)
    case CURLE_GOT_NOTHING: return HTTPError.closedBeforeAnswer
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2:
      return HTTPError.notHTTP
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE:
      // With TLS 1.3 a server refuses the client's certificate only after the handshake.
      if let error = TLSError(quotedIn: words) { return error }
      return transfer.hasAnswered ? HTTPError.connectionClosed : HTTPError.closedBeforeAnswer
    // libcurl's message would quote the URL, which may contain a password.
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HTTPError.proxyFailed(reason: "its URL is none, or its name stands for no address")
    case CURLE_PROXY: return HTTPError.proxyFailed(reason: "it answers as no proxy does")
    case CURLE_PEER_FAILED_VERIFICATION: return distrust(of: transfer, words)
    case CURLE_SSL_CONNECT_ERROR:
      // OpenSSL has no error then, so libcurl names what SSL_get_error() returned.
      if words.contains("SSL_ERROR_SYSCALL") { return TLSError.closedInHandshake }
      return TLSError(quotedIn: words) ?? TLSError.handshakeFailed(reason: words.printable)
    case CURLE_SSL_CLIENTCERT: return TLSError.clientCertificateWanted
    case CURLE_SSL_CACERT_BADFILE:
      return transfer.request.configuration.tls.authorities
        .map { TLSError.fileUnusable(path: $0) } ?? TLSError.noAuthorities
    case CURLE_SSL_CERTPROBLEM:
      let tls = transfer.request.configuration.tls
      // One code for the certificate, the key and both together.
      let isKey = words.contains("private key")
      if words.contains("does not match") { return TLSError.keyMismatch }
      return TLSError.fileUnusable(
        path: (isKey ? tls.clientKey : nil) ?? tls.clientCertificate ?? "")
    default: return HTTPError.failed(reason: words.isEmpty ? "error \(code.rawValue)" : words)
    }
  }

  /// Why the certificate was refused.
  private static func distrust(of transfer: HTTPTransfer, _ words: String) -> TLSError {
    let host = transfer.request.url.host
    // libcurl compares the names itself, and then has the same code, and no result of OpenSSL.
    if words.contains("subject name") { return .wrongHost(host) }
    return TLSError(
      refusal: transfer.number(CURLINFO_SSL_VERIFYRESULT), host: host, certificate: nil)
  }

  /// The target of a redirect, as a whole URL.
  private static func redirect(of transfer: HTTPTransfer) -> String? {
    var text: UnsafePointer<CChar>?
    guard unsafe ccurl_get_text(transfer.handle, CURLINFO_REDIRECT_URL, &text) == CURLE_OK else {
      return nil
    }
    return unsafe text.map { unsafe String(cString: $0) }
  }
}

/// The ways in which a server accepts a password (RFC 7617, RFC 7616); none where it wants none.
struct HTTPLoginOffers: Sendable {
  let digest: Bool
  let basic: Bool

  init(of transfer: HTTPTransfer) {
    let offers = transfer.number(CURLINFO_HTTPAUTH_AVAIL)
    digest = offers & ccurl_auth_digest() != 0
    basic = offers & ccurl_auth_basic() != 0
  }
}

extension HTTPTransfer {
  /// A number that libcurl has about the transfer, or 0.
  fileprivate func number(_ info: CURLINFO) -> Int {
    var value = 0
    return unsafe ccurl_get_number(handle, info, &value) == CURLE_OK ? value : 0
  }
}
