internal import CCurl
internal import NIOCore
internal import RTPWire
internal import Synchronization

/// One exchange with an HTTP server: a request, and a body without end.
///
/// It belongs to the thread of ``HTTPTransfers``, on which libcurl calls it and it calls `deliver`.
/// Only ``flow`` is shared with the event loop that takes the body: that is how the loop has the far
/// end wait.
@safe final class HTTPTransfer: @unchecked Sendable {
  struct Request: Sendable {
    var url: ServerURL
    var credentials: Credentials?
    var configuration: HTTPConfiguration
    var sockets: UDPTransport.SocketConfiguration
    /// Whether the way must not lead to the machine that this runs on, because a server far away
    /// names it.
    var staysOutside: Bool
  }

  enum Event: Sendable {
    /// There is a connection, and the request is about to be sent.
    case connected(local: String, remote: String)
    /// All headers of the response that counts.
    case answered(HTTPHead, offers: HTTPLoginOffers)
    case body(ByteBuffer, at: Instant)
    case ended(HTTPTransferEnd)
  }

  let request: Request
  let flow = Mutex(Flow())
  private let deliver: @Sendable (Event) -> Void

  private let easy: OpaqueHandle
  /// What is said beside libcurl's own headers; libcurl reads it until the handle is gone.
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var head = HTTPHead()
  /// Whether the response that counts is there.
  private(set) var hasAnswered = false
  private var body = ByteBuffer()
  /// Bytes that went to the event loop the last time: room for as many is likely to be needed.
  private var lastPortion = 0
  /// Why this side breaks the transfer off.
  private(set) var refusal: (any Error)?
  /// What libcurl says about an error; it writes there until the handle is gone.
  private let errorText = UnsafeMutableBufferPointer<CChar>.allocate(
    capacity: Int(CURL_ERROR_SIZE))

  /// How much of the body is on its way to the event loop, and whether more is wanted.
  struct Flow: Sendable {
    /// Bytes that the event loop has been given and has not worked off.
    var underway = 0
    /// Whether the event loop wants no more for now.
    var isHeld = false
    /// Whether libcurl was told to pause, and is to be told when to go on.
    var isPaused = false
  }

  typealias OpaqueHandle = UnsafeMutableRawPointer

  /// Bytes on their way to the event loop, above which the server waits.
  static let mostUnderway = 1 << 20
  /// Bytes that go to the event loop at once: some 180 packets, so that it works while more comes.
  private static let portion = 256 << 10
  /// What libcurl is to read at once, in bytes.
  private static let readSize = 256 << 10
  static let connectTime = Duration.seconds(10)
  /// A connection serves one stream, and what is wanted are packets, if the server has a choice; many
  /// file servers know no better name for them than bytes.
  private static let headers = [
    "Accept: video/rtp, application/octet-stream;q=0.9, */*;q=0.1", "Connection: close",
  ]

  /// - Throws: ``HTTPError`` when libcurl does not take the settings.
  init(
    _ request: Request, deliver: @escaping @Sendable (Event) -> Void
  ) throws(HTTPError) {
    self.request = request
    self.deliver = deliver
    guard Self.libraryIsReady else { throw HTTPError.failed(reason: "libcurl does not start") }
    guard let easy = unsafe curl_easy_init() else { throw HTTPError.failed(reason: "no memory") }
    unsafe self.easy = easy
    unsafe errorText.initialize(repeating: 0)
    try configure()
  }

  deinit {
    unsafe curl_easy_cleanup(easy)
    unsafe curl_slist_free_all(headers)
    unsafe errorText.deallocate()
  }

  /// The handle, for the thread that runs it.
  var handle: OpaqueHandle { unsafe easy }

  /// libcurl wants to be initialised once, before any other use of it.
  private static let libraryIsReady: Bool =
    curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  // MARK: - The event loop's side

  /// Tells that `count` bytes have been worked off; true when the transfer is to be resumed.
  func workedOff(_ count: Int) -> Bool {
    flow.withLock { flow in
      flow.underway -= count
      return flow.resumes()
    }
  }

  /// Has the server wait, or go on; true when the transfer is to be resumed.
  func hold(_ isHeld: Bool) -> Bool {
    flow.withLock { flow in
      flow.isHeld = isHeld
      return flow.resumes()
    }
  }

  // MARK: - On the thread of the transfers

  /// Passes on what has been gathered of the body.
  func flush() {
    guard body.readableBytes > 0 else { return }
    deliver(.body(body, at: Instant(NIODeadline.now())))
    lastPortion = body.readableBytes
    body = ByteBuffer()
  }

  /// The transfer is over; nothing comes after this.
  func finish(_ code: CURLcode) {
    flush()
    deliver(.ended(HTTPTransferEnd(of: self, code: code)))
  }

  /// The transfer could not be run; nothing comes after this.
  func fail(_ error: HTTPError) { deliver(.ended(HTTPTransferEnd(of: self, failure: error))) }

  /// Why the response is no stream, as far as it has come.
  var objection: HTTPError? { head.objection }

  /// libcurl's words for what went wrong.
  var words: String {
    let bytes = unsafe errorText.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self).trimmed
  }

  fileprivate func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    let isTaken = unsafe hasAnswered ? head.appendTrailer(line) : head.append(line)
    guard isTaken else {
      refusal = HTTPError.headersTooLarge(limit: HTTPHead.limit)
      return false
    }
    if hasAnswered { return true }
    if head.isComplete, head.status == 200 { answer() }
    return true
  }

  /// Takes a part of the body; `nil` has libcurl keep it until the transfer is resumed.
  fileprivate func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    // The page that goes with a redirect or an error; libcurl wants its end.
    guard head.status == 200 else { return true }
    if let objection = head.objection {
      refusal = objection
      return false
    }
    let isWanted = flow.withLock { $0.takes(bytes.count) }
    guard isWanted else { return nil }
    if body.readableBytes == 0 {
      body = ByteBufferAllocator().buffer(capacity: max(bytes.count, lastPortion))
    }
    unsafe body.writeBytes(bytes)
    if body.readableBytes >= Self.portion { flush() }
    return true
  }

  private func answer() {
    hasAnswered = true
    deliver(.answered(head, offers: HTTPLoginOffers(of: self)))
  }

  /// The connection stands, with this address at the other end; false when it must not be used.
  fileprivate func checkConnection(to address: String, local: String) -> Bool {
    if let error = HTTPCertificate.objection(on: self) {
      refusal = error
      return false
    }
    // A name can stand for any address, and whoever redirects chooses the name.
    if request.staysOutside, request.configuration.proxy == nil, ServerURL.isConfined(address) {
      refusal = HTTPError.redirectRefused(to: request.url.description)
      return false
    }
    deliver(.connected(local: local, remote: address))
    return true
  }
}

extension HTTPTransfer.Flow {
  /// Whether `count` bytes more are taken; else the transfer pauses.
  fileprivate mutating func takes(_ count: Int) -> Bool {
    guard !isHeld, underway < HTTPTransfer.mostUnderway else {
      isPaused = true
      return false
    }
    underway += count
    return true
  }

  /// Whether what was paused goes on.
  fileprivate mutating func resumes() -> Bool {
    guard isPaused, !isHeld, underway <= HTTPTransfer.mostUnderway / 2 else { return false }
    isPaused = false
    return true
  }
}

// MARK: - libcurl's settings

extension HTTPTransfer {
  private func configure() throws(HTTPError) {
    unsafe try check(
      ccurl_set_context(easy, CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque()))
    unsafe try check(ccurl_set_context(easy, CURLOPT_ERRORBUFFER, errorText.baseAddress))
    try set(CURLOPT_URL, request.url.description)
    // Nothing but HTTP, whatever libcurl was built with; redirects are decided about here.
    try set(CURLOPT_PROTOCOLS_STR, request.url.isSecure ? "http,https" : "http")
    try set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_USERAGENT, "rtp-recv")
    // An empty name is libcurl's way of saying: none, not even that of the environment.
    try set(CURLOPT_PROXY, request.configuration.proxy ?? "")
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_CONNECTTIMEOUT_MS, Int(Self.connectTime / .milliseconds(1)))
    try set(CURLOPT_BUFFERSIZE, Self.readSize)
    try set(CURLOPT_TCP_KEEPALIVE, 1)
    if let zone = request.url.zone { try set(CURLOPT_ADDRESS_SCOPE, zone) }
    // A connection serves one stream, and its descriptor is given back with it.
    try set(CURLOPT_FORBID_REUSE, 1)
    try setHeaders()
    if let credentials = request.credentials {
      try set(CURLOPT_USERNAME, credentials.user)
      try set(CURLOPT_PASSWORD, credentials.password)
      let basic = request.configuration.allowsBasic ? ccurl_auth_basic() : 0
      try set(CURLOPT_HTTPAUTH, ccurl_auth_digest() | basic)
    }
    if request.url.isSecure { try configureTLS() }
    try configureSocket()
    try setCallbacks()
  }

  private func configureTLS() throws(HTTPError) {
    let tls = request.configuration.tls
    try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    if tls.acceptsAnything || tls.pin != nil {
      try set(CURLOPT_SSL_VERIFYPEER, 0)
      try set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    try set(CURLOPT_CERTINFO, 1)
    if let path = tls.authorities { try set(CURLOPT_CAINFO, path) }
    if let path = tls.clientCertificate {
      try set(CURLOPT_SSLCERT, path)
      try set(CURLOPT_SSLKEY, tls.clientKey ?? path)
    }
  }

  /// The local address, port and interface that were asked for.
  private func configureSocket() throws(HTTPError) {
    if let bind = request.sockets.bind {
      // Else libcurl would look for an interface of that name first.
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
    for line in Self.headers {
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

  /// - Throws: what libcurl says of a setting that it does not take.
  private func check(_ code: CURLcode) throws(HTTPError) {
    guard code != CURLE_OK else { return }
    throw .failed(reason: unsafe String(cString: curl_easy_strerror(code)))
  }

  private func setCallbacks() throws(HTTPError) {
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

  /// The transfer that has this handle.
  static func behind(_ handle: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    var context: UnsafeMutableRawPointer?
    guard let handle = unsafe handle, unsafe ccurl_get_context(handle, &context) == CURLE_OK else {
      return nil
    }
    return unsafe at(context)
  }

  /// The transfer that a pointer of libcurl's stands for.
  private static func at(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    unsafe context.map { unsafe Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
  }
}
