internal import CCurl
internal import NIOCore
internal import RTPWire

/// libcurl's settings.
extension HTTPTransfer {
  func configure() throws(HTTPError) {
    unsafe try check(
      ccurl_set_context(easy, CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque()))
    unsafe try check(ccurl_set_context(easy, CURLOPT_ERRORBUFFER, errorText.baseAddress))
    try set(CURLOPT_URL, request.url.description)
    // Only HTTP, whatever libcurl supports; redirects are decided here.
    try set(CURLOPT_PROTOCOLS_STR, request.url.isSecure ? "http,https" : "http")
    try set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_USERAGENT, "rtp-recv")
    // For libcurl an empty name means no proxy, not even the one in the environment.
    try set(CURLOPT_PROXY, request.configuration.proxy ?? "")
    try set(CURLOPT_NOSIGNAL, 1)
    let connectTime = request.isInspection ? Self.inspectionTime : Self.connectTime
    try set(CURLOPT_CONNECTTIMEOUT_MS, Int(connectTime / .milliseconds(1)))
    try set(CURLOPT_BUFFERSIZE, Self.readSize)
    try set(CURLOPT_TCP_KEEPALIVE, 1)
    if let zone = request.url.zone { try set(CURLOPT_ADDRESS_SCOPE, zone) }
    // A connection serves one stream and closes with it.
    try set(CURLOPT_FORBID_REUSE, 1)
    try setHeaders()
    if let message = request.message {
      try set(CURLOPT_POSTFIELDSIZE, message.body.utf8.count)
      try set(CURLOPT_COPYPOSTFIELDS, message.body)
      // Decoded, because some devices compress what nobody asked them to.
      try set(CURLOPT_ACCEPT_ENCODING, "gzip")
    }
    if let credentials = request.credentials {
      try set(CURLOPT_USERNAME, credentials.user)
      try set(CURLOPT_PASSWORD, credentials.password)
      let allowsBasic = request.configuration.allowsBasic && request.message == nil
      let basic = allowsBasic ? ccurl_auth_basic() : 0
      try set(CURLOPT_HTTPAUTH, ccurl_auth_digest() | basic)
    }
    if request.url.isSecure { try configureTLS() }
    try configureSocket()
    try setCallbacks()
  }

  private func configureTLS() throws(HTTPError) {
    let tls = request.configuration.tls
    try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    // An inspection ends before the server is asked for anything. A proxy on the way to it gets
    // CONNECT and its own login once more.
    if tls.acceptsAnything || tls.pin != nil || request.isInspection {
      try set(CURLOPT_SSL_VERIFYPEER, 0)
      try set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    try set(CURLOPT_CERTINFO, 1)
    if let path = tls.authorities {
      try set(CURLOPT_CAINFO, path)
      // Without this, the folder of the system's authorities would still count.
      unsafe try check(ccurl_set_text(easy, CURLOPT_CAPATH, nil))
    }
    if let path = tls.clientCertificate, !request.isInspection {
      try set(CURLOPT_SSLCERT, path)
      try set(CURLOPT_SSLKEY, tls.clientKey ?? path)
    }
  }

  /// Sets the local address, port and interface, if they were chosen.
  private func configureSocket() throws(HTTPError) {
    if let bind = request.sockets.bind {
      // Without the prefix, libcurl would first look for an interface of that name.
      if let host = bind.host { try set(CURLOPT_INTERFACE, "host!" + host) }
      if bind.port > 0 { try set(CURLOPT_LOCALPORT, bind.port) }
    }
    guard request.sockets.interface != nil else { return }
    unsafe try check(
      ccurl_set_context(
        easy, CURLOPT_SOCKOPTDATA, Unmanaged.passUnretained(self).toOpaque()))
    unsafe try check(
      ccurl_set_socket_setup(easy) { context, descriptor, _ in
        guard let transfer = unsafe HTTPTransfer.at(context) else { return CURL_SOCKOPT_ERROR }
        return transfer.bindToInterface(descriptor) ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR
      })
  }

  private func bindToInterface(_ descriptor: CInt) -> Bool {
    guard let name = request.sockets.interface else { return true }
    do throws(TransportError) {
      try DatagramSocket.bind(descriptor, toInterface: name)
      return true
    } catch {
      refusal = error
      return false
    }
  }

  private func setHeaders() throws(HTTPError) {
    for line in request.message.map(Self.headers(of:)) ?? Self.headers {
      guard let list = unsafe curl_slist_append(headers, line) else {
        throw .failed(reason: "no memory")
      }
      unsafe headers = list
    }
    unsafe try check(ccurl_set_headers(easy, headers))
  }

  private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
    unsafe try check(ccurl_set_number(easy, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(HTTPError) {
    unsafe try check(ccurl_set_text(easy, option, value))
  }

  /// - Throws: libcurl's message about a setting that it refuses.
  private func check(_ code: CURLcode) throws(HTTPError) {
    guard code != CURLE_OK else { return }
    throw .failed(reason: unsafe String(cString: curl_easy_strerror(code)))
  }

  func setCallbacks() throws(HTTPError) {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe try check(ccurl_set_context(easy, CURLOPT_HEADERDATA, context))
    unsafe try check(
      ccurl_set_taker(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        guard let transfer = unsafe HTTPTransfer.at(context) else { return 0 }
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe transfer.takeHeader(line) ? line.count : 0
      })
    unsafe try check(ccurl_set_context(easy, CURLOPT_WRITEDATA, context))
    unsafe try check(
      ccurl_set_taker(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        guard let transfer = unsafe HTTPTransfer.at(context) else { return 0 }
        let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        switch unsafe transfer.takeBody(part) {
        case true?: return part.count
        case false?: return 0
        case nil: return Int(CURL_WRITEFUNC_PAUSE)
        }
      })
    unsafe try check(ccurl_set_context(easy, CURLOPT_PREREQDATA, context))
    unsafe try check(
      ccurl_set_request_check(easy) { context, remote, local, _, localPort in
        guard let transfer = unsafe HTTPTransfer.at(context) else { return CURL_PREREQFUNC_ABORT }
        let remote = unsafe remote.map { unsafe String(cString: $0) } ?? ""
        let local = unsafe local.map { unsafe String(cString: $0) } ?? ""
        return transfer.checkConnection(
          to: remote, local: ServerURL.endpoint(local, Int(localPort)))
          ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
  }

  /// The transfer that owns this handle.
  static func behind(_ handle: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    var context: UnsafeMutableRawPointer?
    guard let handle = unsafe handle, unsafe ccurl_get_context(handle, &context) == CURLE_OK else {
      return nil
    }
    return unsafe at(context)
  }

  /// The transfer behind a context pointer from libcurl.
  private static func at(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    unsafe context.map { unsafe Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
  }
}
