internal import RTPWire

/// Sets streams up and plays them.
extension RTSPSession {
  /// The URL for PLAY, TEARDOWN and keep-alives.
  var aggregateURL: String { connection.aggregateURLs.first ?? url.description }

  // MARK: SETUP

  /// Sets up the next stream, or plays when there is none.
  mutating func setUpNext(at now: Instant) {
    guard let stream = setups.current else { return play(at: now) }
    if server.leftOut.contains(stream.media) { return leaveOut(status: nil, at: now) }
    if setups.carrier == .udp, stream.ports == nil {
      perform(.openPorts(media: stream.media, .pair))
    } else {
      requestSetUp(at: now)
    }
  }

  mutating func requestSetUp(at now: Instant) {
    guard let stream = setups.current else { return }
    send(
      .setUp(media: stream.media), "SETUP", to: setups.url ?? aggregateURL,
      [("Transport", setups.transport)], at: now)
  }

  mutating func receiveSetUp(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    guard let stream = setups.current else { return }
    guard response.isSuccess else { return recover(from: response, to: exchange, at: now) }
    adoptSession(of: response)
    connection.isSetUp = true
    if connection.identifier == nil { report(.sessionIdentifierMissing) }
    let answer = setups.accept(response.headers["Transport"].map { TransportHeader($0) })
    switch answer {
    case .interleaved(let asked, let given):
      guard let given else {
        report(.transportIncomplete)
        break
      }
      if asked != given { report(.otherChannels(asked: asked, given: given)) }
    case .interleavedInstead:
      report(.otherDelivery)
      perform(.closePorts)
    case .serverPorts(let ports): perform(.expectMedia(media: stream.media, from: ports))
    case .group(let group):
      // The next stream is set up once the group is joined.
      return perform(.openPorts(media: stream.media, group))
    // This is not the stream that must not fail.
    case .unusable where stream.role != .selected: return leaveOut(status: nil, at: now)
    case .unusable: return fail(.deliveryRefused, at: now)
    }
    setups.advance()
    setUpNext(at: now)
  }

  /// What a SETUP that the server does not answer may do without.
  enum Obstacle: Sendable, Hashable {
    case udp
    /// Another stream than the selected one, by its index in the description.
    case stream(Int)
  }

  /// What the SETUP under way may do without; `nil` if there is no such thing, or no SETUP.
  var obstacle: Obstacle? {
    guard case .setUp? = exchanges.awaited?.purpose, let stream = setups.current else { return nil }
    if stream.role != .selected { return .stream(stream.media) }
    return mayLeaveUDP ? .udp : nil
  }

  /// Whether the stream is to come over UDP, and may come in the connection instead.
  var mayLeaveUDP: Bool {
    configuration.lowerTransport == .automatic && setups.carrier == .udp
  }

  /// Continues without a stream that could not be set up and is allowed to fail.
  mutating func leaveOut(status: Int?, at now: Instant) {
    if let stream = setups.current, stream.role == .accompanying {
      report(.streamLeftOut(media: stream.media, status: status))
    }
    setups.advance()
    setUpNext(at: now)
  }

  /// Tries the alternatives after a SETUP was refused.
  private mutating func recover(
    from response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    if changeIdentifier(after: response) { return requestSetUp(at: now) }
    if server.hasFormerSession, !connection.isSetUp, [453, 503].contains(response.status) {
      // A camera for one client may still be busy with the TEARDOWN of the session before.
      server.hasFormerSession = false
      connection.setUpDue = now.advanced(by: Self.formerSessionPatience)
      return
    }
    if response.mayMeanURL, setups.tryNextURL() {
      report(.controlURLRewritten)
      return requestSetUp(at: now)
    }
    if let stream = setups.current, stream.role != .selected {
      return leaveOut(status: response.status, at: now)
    }
    guard response.mayMeanTransport else { return refuse(response, to: exchange, at: now) }
    let error =
      response.status == 461
      ? RTSPError.deliveryRefused
      : .refused(
        method: exchange.request.method, status: response.status, reason: response.reason)
    giveUpOnUDP(.udpRefused, error: error, at: now)
  }

  /// Moves the stream from UDP into the connection, if the configuration allows it; happens once.
  ///
  /// After a SETUP without an answer ``connectAgain(without:after:at:)`` does that.
  mutating func giveUpOnUDP(
    _ diagnostic: RTSPDiagnostic, error: RTSPError, at now: Instant
  ) {
    guard mayLeaveUDP else { return fail(error, at: now) }
    report(diagnostic)
    perform(.closePorts)
    guard connection.isSetUp else {
      setups.restart(over: .connection)
      return setUpNext(at: now)
    }
    // A server may close the connection after TEARDOWN, and some keep the session's state. A new
    // connection starts without any.
    leave(at: now)
    server.hasFormerSession = true
    setups.restart(over: .connection)
    connect(at: now)
  }

  // MARK: PLAY

  private mutating func play(at now: Instant) {
    // Parrot drones refuse PLAY without Range.
    send(
      .play, "PLAY", to: aggregateURL, server.takesRange ? [("Range", "npt=0.000-")] : [], at: now)
  }

  mutating func receivePlay(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    guard response.isSuccess else {
      if changeIdentifier(after: response) { return play(at: now) }
      // Invalid Range (RFC 2326 §11.3.8): PLAY may have none (§10.5).
      if response.status == 457, server.takesRange {
        server.takesRange = false
        return play(at: now)
      }
      guard response.mayMeanURL, connection.aggregateURLs.count > 1 else {
        return refuse(response, to: exchange, at: now)
      }
      connection.aggregateURLs.removeFirst()
      report(.controlURLRewritten)
      return play(at: now)
    }
    adoptSession(of: response)
    playBegan(at: now)
  }

  /// The server plays: it has said so, or sends.
  mutating func playBegan(at now: Instant) {
    phase = .playing(since: now)
    server.keepAlive.sent(at: now)
    perform(.playing)
  }

  /// Ends the session with the error that a server's refusal means.
  mutating func refuse(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    fail(
      .refused(
        method: exchange.request.method, status: response.status, reason: response.reason),
      at: now)
  }

  /// Takes over the session's identifier and timeout (§12.37).
  private mutating func adoptSession(of response: RTSPResponse) {
    guard let session = response.headers["Session"].flatMap({ SessionHeader($0) }) else { return }
    // The H264DVR gives every SETUP another identifier.
    if let identifier = connection.identifier, identifier != session.identifier {
      report(.sessionIdentifierChanged)
    }
    connection.identifier = session.identifier
    connection.identifiers = (
      connection.identifiers?.first ?? session.identifier, session.identifier
    )
    server.keepAlive.adopt(timeout: session.timeout)
  }

  /// Goes from the latest identifier back to the first, where the server does not know the latest
  /// (§11.3.5), or to the latest again, where it does not know the first either.
  ///
  /// FFmpeg and retina keep the first one, so it is known to the servers that they play.
  ///
  /// - Returns: whether the request is worth another attempt with the first.
  private mutating func changeIdentifier(after refusal: RTSPResponse) -> Bool {
    guard refusal.status == 454, let (first, latest) = connection.identifiers, first != latest
    else { return false }
    connection.identifier = connection.identifier == latest ? first : latest
    return connection.identifier == first
  }
}

extension RTSPResponse {
  var isSuccess: Bool { (200..<300).contains(status) }

  /// Whether this is a redirect (RFC 2326 §11.2; 307 is HTTP's).
  var isRedirect: Bool { [301, 302, 303, 305, 307].contains(status) }

  /// Whether the request may have failed only because of its URL: servers that use another URL than
  /// the RFC's answer in all of these ways.
  var mayMeanURL: Bool { [400, 404, 451, 454, 455, 459, 460, 503].contains(status) }

  /// Whether a SETUP may have failed only because of its Transport; 461 means that (§11.3), but not
  /// every server knows it.
  var mayMeanTransport: Bool { [400, 406, 451, 455, 461, 500, 501, 503, 551].contains(status) }
}
