internal import NIOCore
internal import RTPWire

/// The requests of a session, from OPTIONS to PLAY, and how each answer is handled.
extension RTSPSession {
  mutating func receive(_ response: RTSPResponse, at now: Instant) {
    // '100 Continue' only announces the answer (RFC 2326 §7.1.1).
    guard phase != .ended, response.status >= 200 else { return }
    connection.hasBeenAnswered = true
    switch exchanges.take(answeredBy: response) {
    case .answer(let exchange): receive(response, to: exchange, at: now)
    case .guess(let exchange):
      report(.wrongSequence)
      receive(response, to: exchange, at: now)
    case .unrelated: report(.unexpectedResponse)
    }
  }

  private mutating func receive(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    // Answers to requests from before the teardown no longer matter.
    guard phase != .tearingDown || exchange.purpose == .teardown else { return }
    if response.status == 401 { return authenticate(response, to: exchange, at: now) }
    if exchange.purpose != .keepAlive, exchange.purpose != .teardown, response.isRedirect {
      return redirect(response, to: exchange, at: now)
    }
    switch exchange.purpose {
    case .options:
      server.keepAlive.adopt(methods: response.headers["Public"])
      // Foscam cameras answer 501, others 404; only the answer to DESCRIBE matters.
      if !response.isSuccess { report(.optionsRefused(status: response.status)) }
      describe(at: now)
    case .describe: receiveDescription(response, to: exchange, at: now)
    case .setUp: receiveSetUp(response, to: exchange, at: now)
    case .play: receivePlay(response, to: exchange, at: now)
    case .teardown: end(.finished)
    case .keepAlive:
      guard !response.isSuccess else { return keepAliveTaken() }
      if stopFeedback(after: response) { return sendKeepAlive(at: now) }
      report(.keepAliveRefused(method: exchange.request.method))
      server.keepAlive.refused(exchange.request.method, at: now)
    }
  }

  // MARK: Connection

  /// Connects, for the first time or anew; `connection` is what is known of the next connection
  /// beforehand.
  mutating func connect(_ connection: OnConnection = OnConnection(), at now: Instant) {
    self.connection = connection
    exchanges.abandon()
    phase = .connecting(until: now.advanced(by: Self.connectDeadline))
    perform(.connect(url, through: tunnel()))
  }

  /// Connects anew during set-up, without what the server may have stumbled over.
  ///
  /// `attempts` are those to log in with the request that the server did not answer.
  mutating func connectAgain(
    without obstacle: Obstacle?, after attempts: Authenticator.Attempts? = nil, at now: Instant
  ) {
    server.reconnections += 1
    if connection.isSetUp { server.hasFormerSession = true }
    // Its pairs of ports are those of the streams that are set up anew.
    if setups.carrier != .connection { perform(.closePorts) }
    switch obstacle {
    case .udp:
      report(.udpRefused)
      setups.restart(over: .connection)
    case .stream(let media):
      server.leftOut.insert(media)
      setups.restart(over: setups.carrier)
    case nil: setups.restart(over: setups.carrier)
    }
    connect(OnConnection(formerAttempts: attempts), at: now)
  }

  /// Ends the session with an error; sends TEARDOWN without waiting for the answer.
  ///
  /// Without TEARDOWN, old live555 servers keep sending the stream, to whoever connects next.
  mutating func fail(_ error: RTSPError, at now: Instant) {
    guard phase != .ended else { return }
    // The end of the session was requested, so an error is no failure any more.
    guard phase != .tearingDown else { return end(.finished) }
    leave(at: now)
    end(.failed(error))
  }

  mutating func leave(at now: Instant) {
    switch phase {
    case .settingUp, .playing:
      guard connection.isSetUp else { return }
      send(.teardown, "TEARDOWN", to: aggregateURL, at: now)
    case .connecting, .tearingDown, .ended: break
    }
  }

  // MARK: Redirects and credentials

  private mutating func redirect(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    guard let location = response.headers["Location"] else {
      return refuse(response, to: exchange, at: now)
    }
    redirect(to: location, at: now)
  }

  /// Follows a redirect to the server named in `location`.
  mutating func redirect(to location: String, at now: Instant) {
    if case .playing(let start) = phase, let lastMedia = connection.lastMedia,
      start.advanced(by: Self.steadyPlay) <= lastMedia
    {
      redirections = Redirections()
    }
    do throws(Redirections.Fault) {
      let target = try redirections.follow(location, from: url)
      report(.redirected(to: location))
      leave(at: now)
      if setups.carrier != .connection { perform(.closePorts) }
      if !target.hasSameOrigin(as: url) {
        server = OnServer(configuration)
        authenticator.move(with: target.hasSameOrigin(as: origin) ? credentials : nil)
      }
      url = target
      let staysOffUDP = target.isSecure && configuration.lowerTransport == .automatic
      setups = RTSPSetups(carrier: staysOffUDP ? .connection : setups.carrier)
      connect(at: now)
    } catch {
      switch error {
      case .refused: fail(.redirectRefused(to: location), at: now)
      case .tooOften(let limit): fail(.redirectedTooOften(limit: limit), at: now)
      }
    }
  }

  private mutating func authenticate(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    var exchange = exchange
    let challenges = AuthenticationChallenge.parse(response.headers.all("WWW-Authenticate"))
    switch authenticator.consider(challenges, attempts: &exchange.attempts) {
    case .retry: transmit(exchange, at: now)
    case .refused(let error):
      switch exchange.purpose {
      case .keepAlive:
        // The stream flows; further attempts could only lock the account.
        report(.keepAliveRefused(method: exchange.request.method))
        server.keepAlive.stop()
      case .teardown: end(.finished)
      case .setUp where setups.current.map({ $0.role != .selected }) ?? false:
        leaveOut(status: response.status, at: now)
      default:
        refuseLogin(error, at: now)
      }
    }
  }

  /// Ends the session because there is no login for the server, or a wrong one.
  mutating func refuseLogin(_ error: RTSPError, at now: Instant) {
    if case .credentialsMissing = error, !url.hasSameOrigin(as: origin) {
      return fail(.credentialsNotForwarded(to: url.description), at: now)
    }
    fail(error, at: now)
  }

  // MARK: OPTIONS and DESCRIBE

  mutating func askOptions(at now: Instant) {
    server.hasAskedOptions = true
    send(.options, "OPTIONS", to: url.description, at: now)
  }

  mutating func describe(at now: Instant) {
    send(
      .describe, "DESCRIBE", to: url.description, [("Accept", "application/sdp")], at: now)
  }

  private mutating func receiveDescription(
    _ response: RTSPResponse, to exchange: RTSPExchanges.Exchange, at now: Instant
  ) {
    guard response.isSuccess else { return refuse(response, to: exchange, at: now) }
    do throws(RTSPError) {
      let description = try SessionDescription(answering: response).choosing(
        by: configuration.formats)
      let selected = description.index(
        of: configuration.selection, preferring: configuration.formats.encodings,
        orSoundOf: configuration.soundEncodings)
      guard purpose == .play else {
        perform(.describe(description, selected: selected, tracks: []))
        return end(.finished)
      }
      let base = ControlURLs(response, requested: url)
      connection.aggregateURLs = base.aggregate(of: description)
      try setups.choose(
        selected, from: description, urls: base.media(of: description, selected: selected),
        configuration: configuration)
      for media in setups.streamsWithoutURL { report(.streamWithoutURL(media: media)) }
      // Servers without an aggregate URL accept PLAY on a single stream (§10.5).
      if let stream = setups.selected { connection.aggregateURLs += stream.urls }
      let streams = DescribedStreams(
        description, selected: setups.selected?.media, tracks: setups.tracks)
      // After a reconnection DESCRIBE is sent again, because Hikvision cameras accept no SETUP on a
      // connection without it.
      guard described.map({ $0 == streams }) ?? true else { throw .otherStreams }
      if described == nil {
        described = streams
        perform(
          .describe(description, selected: setups.selected?.media, tracks: setups.tracks))
      }
      setUpNext(at: now)
    } catch { fail(error, at: now) }
  }
}

extension SessionDescription {
  /// Reads the description in a response to DESCRIBE, whatever its Content-Type.
  fileprivate init(answering response: RTSPResponse) throws(RTSPError) {
    // A recorder whose channel has no camera answers 200 without a body.
    guard !response.body.isEmpty else { throw .emptyDescription }
    do throws(SessionDescriptionError) {
      try self.init(parsing: response.body)
    } catch { throw .sessionDescription(error) }
  }
}
