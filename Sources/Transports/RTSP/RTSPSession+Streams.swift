internal import RTPWire

/// Setting streams up, playing and halting them.
extension RTSPSession {
  /// What PLAY, PAUSE, TEARDOWN and keep-alives are sent to.
  var aggregateURL: String { aggregateURLs.first ?? url.description }

  // MARK: SETUP

  /// Sets up the next stream, or plays when there is none.
  mutating func setUpNext(at now: Instant) {
    guard let stream = streams.current else { return play(at: now) }
    if streams.carrier == .udp, stream.ports == nil {
      perform(.openPorts(media: stream.media, .pair))
    } else {
      requestSetUp(at: now)
    }
  }

  mutating func requestSetUp(at now: Instant) {
    guard let stream = streams.current else { return }
    send(
      .setUp(media: stream.media), "SETUP", to: streams.url ?? aggregateURL,
      [("Transport", streams.transport)], at: now)
  }

  mutating func receiveSetUp(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    guard let stream = streams.current else { return }
    guard response.isSuccess else { return recover(from: response, to: exchange, at: now) }
    adoptSession(of: response)
    isSetUp = true
    if identifier == nil { report(.sessionIdentifierMissing) }
    let answer = streams.accept(response.headers["Transport"].map { TransportHeader($0) })
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
      // The next stream follows when the group is joined.
      return perform(.openPorts(media: stream.media, group))
    // What must not fail is another.
    case .unusable where stream.role != .selected: return leaveOut(status: nil, at: now)
    case .unusable: return fail(.deliveryRefused, at: now)
    }
    streams.advance()
    setUpNext(at: now)
  }

  /// Goes on without a stream that could not be set up, since it is not the one that must not fail.
  mutating func leaveOut(status: Int?, at now: Instant) {
    if let stream = streams.current, stream.role == .accompanying {
      report(.streamLeftOut(media: stream.media, status: status))
    }
    streams.advance()
    setUpNext(at: now)
  }

  /// Tries what else there is after a SETUP was refused.
  private mutating func recover(
    from response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    if response.mayMeanURL, streams.tryNextURL() {
      report(.controlURLRewritten)
      return requestSetUp(at: now)
    }
    if let stream = streams.current, stream.role != .selected {
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

  /// Goes on in the connection, if that was left open; once, because there is no way back.
  mutating func giveUpOnUDP(
    _ diagnostic: RTSPDiagnostic, error: RTSPError, at now: Instant
  ) {
    guard configuration.delivery == .automatic, streams.carrier == .udp else {
      return fail(error, at: now)
    }
    report(diagnostic)
    perform(.closePorts)
    guard isSetUp else {
      streams.restart(over: .connection)
      return setUpNext(at: now)
    }
    // A server may close the connection after TEARDOWN, and some keep its session's state; in a
    // new one everything is as at the start.
    leave(at: now)
    streams.restart(over: .connection)
    connect(at: now)
  }

  // MARK: PLAY and PAUSE

  private mutating func play(at now: Instant) {
    // Parrot drones refuse PLAY without Range.
    send(.play, "PLAY", to: aggregateURL, [("Range", "npt=0.000-")], at: now)
  }

  mutating func receivePlay(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    guard response.isSuccess else {
      guard response.mayMeanURL, aggregateURLs.count > 1 else {
        return refuse(response, to: exchange, at: now)
      }
      aggregateURLs.removeFirst()
      report(.controlURLRewritten)
      return phase == .paused ? resume(at: now) : play(at: now)
    }
    adoptSession(of: response)
    phase = .playing(since: now)
    keepAlive.sent(at: now)
    perform(.playing(position(in: response)))
  }

  /// What RTP-Info claims for the selected stream, as far as it can be meant.
  private mutating func position(in response: RTSPResponse) -> StreamPosition? {
    guard let field = response.headers["RTP-Info"], let stream = streams.selected else {
      return nil
    }
    let entries = RTPInfo.parse(field)
    let named = entries.first { entry in stream.urls.contains { entry.isFor($0) } }
    guard let entry = named ?? (streams.count == 1 ? entries.first : nil) else { return nil }
    // Hikvision's DS-2CD2032-I says that its first packet is number 0, TP-Link's Tapo C320WS that it
    // is 1, and neither is true.
    let position = StreamPosition(
      sequenceNumber: entry.sequenceNumber.flatMap { $0 > 1 ? $0 : nil },
      timestamp: entry.timestamp.flatMap { $0 > 1 ? $0 : nil })
    if position.sequenceNumber != entry.sequenceNumber || position.timestamp != entry.timestamp {
      report(.suspiciousPosition)
    }
    return position == StreamPosition() ? nil : position
  }

  mutating func receivePause(_ response: RTSPResponse, at now: Instant) {
    guard response.isSuccess else {
      // Hikvision's DS-2CD2732F answers 551 instead of 501; both mean that it can not.
      report(.pauseRefused(status: response.status))
      phase = .playing(since: now)
      return
    }
    phase = .paused
    perform(.paused)
  }

  /// Ends the session with what a server gave as its reason.
  mutating func refuse(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    fail(
      .refused(
        method: exchange.request.method, status: response.status, reason: response.reason),
      at: now)
  }

  /// Takes over the identifier and the timeout of a session (§12.37).
  private mutating func adoptSession(of response: RTSPResponse) {
    guard let session = response.headers["Session"].flatMap({ SessionHeader($0) }) else { return }
    // The H264DVR gives every SETUP another one.
    if let identifier, identifier != session.identifier { report(.sessionIdentifierChanged) }
    identifier = session.identifier
    keepAlive.adopt(timeout: session.timeout)
  }
}

extension RTSPResponse {
  var isSuccess: Bool { (200..<300).contains(status) }

  /// RFC 2326 §11.3; 307 is HTTP's.
  var isRedirect: Bool { [301, 302, 303, 305, 307].contains(status) }

  /// Whether the request may have failed for its URL alone: servers that know a stream by another
  /// URL than the one the RFC builds say so in all of these ways.
  var mayMeanURL: Bool { [400, 404, 451, 454, 455, 459, 460, 503].contains(status) }

  /// Whether a SETUP may have failed for its Transport alone; 461 says just that (§11.3), and not
  /// every server knows it.
  var mayMeanTransport: Bool { [400, 406, 451, 455, 461, 500, 501, 503, 551].contains(status) }
}
