import BlockingIO
internal import CCurl
internal import NIOCore
internal import RTPWire
internal import Synchronization

/// One exchange with an HTTP server: a request and an endless body, or a message and its answer.
///
/// It belongs to the thread of ``HTTPTransfers``, where libcurl calls it and it calls `deliver`.
/// Only ``flow`` is shared with the event loop that takes the body, so that the loop can make the
/// far end wait.
@safe final class HTTPTransfer: @unchecked Sendable {
  struct Request: Sendable {
    var url: ServerURL
    var credentials: Credentials?
    var configuration: HTTPConfiguration
    var sockets: UDPTransport.SocketConfiguration
    /// Whether the connection must not lead to this machine, because a distant server named the
    /// URL.
    var staysOutside: Bool
    /// What is posted, where one answer is wanted and no stream.
    var message: HTTPMessage?
    /// Whether the server is asked nothing, because only its certificate, which is not trusted, is
    /// wanted, for the error.
    var isInspection = false

    /// The request that only looks at the certificate of a server that is not trusted, or `nil` if
    /// it is one already.
    ///
    /// OpenSSL ends the first handshake before libcurl keeps what it was about. The server gets
    /// neither a request nor a login nor this side's certificate; a proxy gets its CONNECT and its
    /// login again.
    var asInspection: Self? {
      guard !isInspection else { return nil }
      var request = self
      request.isInspection = true
      request.credentials = nil
      return request
    }
  }

  enum Event: Sendable {
    /// The connection is open, and the request is about to be sent.
    case connected(local: String, remote: String)
    /// All headers of the final response.
    case answered(HTTPHead, offers: HTTPLoginOffers)
    case body(ByteBuffer, at: Instant)
    case ended(HTTPTransferEnd)
  }

  let request: Request
  let flow = Mutex(Flow())
  private let deliver: @Sendable (Event) -> Void

  let easy: OpaqueHandle
  /// Headers in addition to libcurl's own; libcurl reads them until the handle is freed.
  var headers: UnsafeMutablePointer<curl_slist>?
  private var head = HTTPHead()
  /// Whether the final response has come.
  var hasAnswered = false
  private var body = ByteBuffer()
  /// Bytes of an answer to a message so far.
  private var answered = 0
  /// Bytes in the last portion for the event loop; the next one will probably need as much room.
  private var lastPortion = 0
  /// Why this side aborts the transfer.
  var refusal: (any Error)?
  /// libcurl's message about an error; libcurl writes there until the handle is freed.
  let errorText = UnsafeMutableBufferPointer<CChar>.allocate(
    capacity: Int(CURL_ERROR_SIZE))

  /// How much of the body is on its way to the event loop, and whether more is wanted.
  struct Flow: Sendable {
    /// Bytes that the event loop has received but not yet consumed.
    var underway = 0
    /// Whether the event loop wants no more for now.
    var isHeld = false
    /// Whether libcurl was told to pause, and must be told to continue.
    var isPaused = false
  }

  typealias OpaqueHandle = UnsafeMutableRawPointer

  /// The server waits when more bytes than this are on their way to the event loop.
  static let mostUnderway = 1 << 20
  /// Bytes per portion for the event loop: about 180 packets, so that it works while more comes.
  private static let portion = 256 << 10
  /// Bytes per read of libcurl.
  static let readSize = 256 << 10
  static let connectTime = Duration.seconds(10)
  /// For an inspection: the server has just answered, and the person waits for the error.
  static let inspectionTime = Duration.seconds(3)
  /// The headers that are added to libcurl's own.
  ///
  /// A connection serves one stream. `video/rtp` is preferred; many file servers know only a type
  /// for arbitrary bytes.
  static let headers = [
    "Accept: video/rtp, application/octet-stream;q=0.9, */*;q=0.1", "Connection: close",
  ]

  /// The same for a message; a header without a value takes away one of libcurl's.
  static func headers(of message: HTTPMessage) -> [String] {
    ["Content-Type: \(message.contentType)", "Accept-Encoding:", "Connection: close"]
  }

  /// - Throws: ``HTTPError`` when libcurl refuses a setting.
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

  /// libcurl's handle, for the thread that runs it.
  var handle: OpaqueHandle { unsafe easy }

  /// Initializes libcurl once, before any other use of it.
  private static let libraryIsReady: Bool =
    curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  static var library: LinkedLibrary {
    let number = UInt(ccurl_version())
    return LinkedLibrary(
      name: "libcurl",
      version: .init(major: number >> 16, minor: number >> 8 & 0xFF, patch: number & 0xFF),
      oldest: .init(major: 7, minor: 85, patch: 0),
      need: "is the first that can be kept to HTTP (CURLOPT_PROTOCOLS_STR)")
  }

  // MARK: - The event loop's side

  /// Records that `count` bytes were consumed; true when the transfer must be resumed.
  func workedOff(_ count: Int) -> Bool {
    flow.withLock { flow in
      flow.underway -= count
      return flow.resumes()
    }
  }

  /// Makes the server wait or continue; true when the transfer must be resumed.
  func hold(_ isHeld: Bool) -> Bool {
    flow.withLock { flow in
      flow.isHeld = isHeld
      return flow.resumes()
    }
  }

  // MARK: - On the thread of the transfers

  /// Passes on the part of the body that has been collected.
  func flush() {
    guard body.readableBytes > 0 else { return }
    deliver(.body(body, at: Instant.now))
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

  /// Why the response, as far as it has come, cannot be a stream.
  var objection: HTTPError? { head.objection }

  /// libcurl's message about the error.
  var words: String {
    let bytes = unsafe errorText.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self).trimmed
  }

  func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    let isTaken = unsafe hasAnswered ? head.appendTrailer(line) : head.append(line)
    guard isTaken else {
      refusal = HTTPError.headersTooLarge(limit: HTTPHead.limit)
      return false
    }
    if hasAnswered || request.message != nil { return true }
    if head.isComplete, head.status == 200 { answer() }
    return true
  }

  /// Takes a part of the body; `nil` makes libcurl keep it until the transfer is resumed.
  func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    if let message = request.message { return unsafe take(bytes, ofAnswerTo: message) }
    // The page of a redirect or an error must be read to its end.
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

  /// Takes a part of an answer, of whatever status, as far as its limit allows.
  private func take(_ bytes: UnsafeRawBufferPointer, ofAnswerTo message: HTTPMessage) -> Bool {
    answered += bytes.count
    guard answered <= message.answerLimit else {
      refusal = HTTPError.answerTooLong(limit: message.answerLimit)
      return false
    }
    unsafe body.writeBytes(bytes)
    return true
  }

  private func answer() {
    hasAnswered = true
    deliver(.answered(head, offers: HTTPLoginOffers(of: self)))
  }

  /// Checks an open connection to `address`; false when it must not be used.
  func checkConnection(to address: String, local: String) -> Bool {
    if let error = HTTPCertificate.objection(on: self) {
      refusal = error
      return false
    }
    // A name can stand for any address, and the redirecting server chooses the name.
    if request.staysOutside, request.configuration.proxy == nil, ServerURL.isConfined(address) {
      refusal = HTTPError.redirectRefused(to: request.url.description)
      return false
    }
    deliver(.connected(local: local, remote: address))
    return true
  }
}

extension HTTPTransfer.Flow {
  /// Whether `count` more bytes are accepted; if not, the transfer pauses.
  fileprivate mutating func takes(_ count: Int) -> Bool {
    guard !isHeld, underway < HTTPTransfer.mostUnderway else {
      isPaused = true
      return false
    }
    underway += count
    return true
  }

  /// Whether a paused transfer may continue.
  fileprivate mutating func resumes() -> Bool {
    guard isPaused, !isHeld, underway <= HTTPTransfer.mostUnderway / 2 else { return false }
    isPaused = false
    return true
  }
}
