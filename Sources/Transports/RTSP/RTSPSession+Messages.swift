internal import RTPWire

/// Sends requests, and answers those of the server.
extension RTSPSession {
  // MARK: Ours

  mutating func send(
    _ purpose: RTSPExchanges.Purpose, _ method: String, to uri: String,
    _ fields: [(String, String)] = [], at now: Instant
  ) {
    var request = RTSPRequest(method: method, uri: uri)
    for (name, value) in fields { request.headers.add(name, value) }
    var exchange = RTSPExchanges.Exchange(purpose: purpose, request: request)
    exchange.attempts = connection.formerAttempts.take() ?? exchange.attempts
    transmit(exchange, at: now)
  }

  /// Sends a request, for the first time or again with another answer to a challenge.
  mutating func transmit(_ exchange: RTSPExchanges.Exchange, at now: Instant) {
    var exchange = exchange
    let authorization = authenticator.authorization(
      method: exchange.request.method, uri: exchange.request.uri, attempts: &exchange.attempts)
    if authorization != nil { noteRevealedPassword() }
    // TEARDOWN has one second in total, however often it is sent.
    let deadline =
      exchange.purpose == .teardown
      ? exchange.deadline ?? now.advanced(by: Self.teardownDeadline)
      : now.advanced(by: patience)
    exchange.sent = now
    let sequence = exchanges.begin(exchange, deadline: deadline)
    var request = RTSPRequest(method: exchange.request.method, uri: exchange.request.uri)
    request.headers.add("CSeq", String(sequence))
    // Some cameras answer 401 to a client without a User-Agent.
    request.headers.add("User-Agent", Self.userAgent)
    if let identifier = connection.identifier { request.headers.add("Session", identifier) }
    for field in exchange.request.headers.fields { request.headers.add(field.name, field.value) }
    if let authorization { request.headers.add("Authorization", authorization) }
    perform(.request(request))
  }

  /// Says that an answer to a challenge shows the password, if it does.
  mutating func noteRevealedPassword() {
    if authenticator.revealsPassword, !url.isSecure { report(.basicWithoutEncryption) }
  }

  /// Sends the next keep-alive; no answer is needed while media flows.
  mutating func sendKeepAlive(at now: Instant) {
    server.keepAlive.sent(at: now)
    guard let method = server.keepAlive.method else { return }
    // Some cameras answer it only on the URL of the whole presentation.
    send(.keepAlive, method, to: aggregateURL, at: now)
  }

  /// The keep-alive because of which the server may have closed the connection at `now`.
  ///
  /// rtsp-simple-server 0.19 closes it upon SET_PARAMETER, which it does not know.
  func keepAliveToBlame(at now: Instant) -> String? {
    guard let exchange = exchanges.keepAlive, let sent = exchange.sent,
      sent.duration(to: now) <= Self.keepAliveSuspicion
    else { return nil }
    return exchange.request.method
  }

  // MARK: The server's

  mutating func receive(_ request: RTSPRequest, at now: Instant) {
    switch phase {
    case .connecting, .ended: return
    case .settingUp, .playing, .tearingDown: break
    }
    switch request.method {
    case "OPTIONS": respond(to: request, 200, "OK", [("Public", Self.understoodMethods)])
    case "GET_PARAMETER", "SET_PARAMETER", "ANNOUNCE": respond(to: request, 200, "OK")
    case "REDIRECT":
      respond(to: request, 200, "OK")
      // Who has said goodbye goes nowhere else.
      guard phase != .tearingDown, let location = request.headers["Location"] else { return }
      redirect(to: location, at: now)
    case "TEARDOWN":
      respond(to: request, 200, "OK")
      end(.finished)
    default: respond(to: request, 501, "Not Implemented")
    }
  }

  private mutating func respond(
    to request: RTSPRequest, _ status: Int, _ reason: String, _ fields: [(String, String)] = []
  ) {
    var response = RTSPResponse(status: status, reason: reason)
    for name in ["CSeq", "Session"] {
      if let value = request.headers[name] { response.headers.add(name, value) }
    }
    for (name, value) in fields { response.headers.add(name, value) }
    perform(.respond(response))
  }

  static let userAgent = "rtp-recv"
  private static let understoodMethods =
    "OPTIONS, GET_PARAMETER, SET_PARAMETER, ANNOUNCE, REDIRECT, TEARDOWN"
}
