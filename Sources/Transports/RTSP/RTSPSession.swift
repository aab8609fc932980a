internal import RTPWire

/// An RTSP session as a value (RFC 2326 appendix A): what happened and `now` go in, actions come out.
///
/// The shell that owns the sockets takes the actions with ``nextAction()`` after every call, until
/// there are none, and executes them in order. The session reads no clock, opens nothing, and knows
/// no thread. Every wait in it ends by ``deadline``, at which the shell calls ``wake(at:)``; media
/// moves the deadline later, so a timer that is not moved with every packet merely fires early.
struct RTSPSession: Sendable {
  /// The server that is talked to, and the address of the stream on it.
  var url: ServerURL
  var authenticator: Authenticator
  var phase: Phase
  var exchanges = RTSPExchanges()
  var keepAlive = RTSPKeepAlive()
  var streams: RTSPStreams
  var redirections: Redirections
  /// Whether the server has set up something that it should be told to take down.
  var isSetUp = false
  /// The session's identifier, if the server gave one.
  var identifier: String?
  /// What PLAY and all that follows is sent to, in the order in which it is tried.
  var aggregateURLs: [String] = []
  var hasAskedOptions = false
  var hasDescribed = false
  /// Whether anything was answered in this connection.
  var hasBeenAnswered = false
  var reconnections = 0
  /// When the selected stream last brought something.
  var lastMedia: Instant?
  /// Whether the first connection led to this machine or its link, so that a redirect may too.
  private var beganInside: Bool?

  let configuration: RTSPConfiguration
  let purpose: Purpose
  let credentials: Credentials?
  /// What the credentials belong to.
  let origin: ServerURL
  private let silence: Duration?
  private var actions: [Action] = []
  private var reported: Set<RTSPDiagnostic> = []

  /// Where a session stands; the states of RFC 2326 §A.1 are Init until the first SETUP is
  /// answered, then Ready, and Playing.
  enum Phase: Sendable, Hashable {
    case connecting(until: Instant)
    /// From OPTIONS to the response to PLAY: Init, then Ready.
    case settingUp
    /// Playing, since the response to PLAY.
    case playing(since: Instant)
    /// Ready again.
    case paused
    case tearingDown
    case ended
  }

  /// Begins a session; its first action is to connect.
  ///
  /// The credentials are for the server of `url` and no other. A stream that brings nothing for
  /// `silence` ends the session; `nil` waits for ever. The nonces of digest authentication come
  /// from `randomness`.
  init(
    configuration: RTSPConfiguration, url: ServerURL, credentials: Credentials?,
    purpose: Purpose = .play, silence: Duration? = .seconds(5),
    randomness: any RandomNumberGenerator & Sendable, at now: Instant
  ) {
    self.configuration = configuration
    self.url = url
    self.purpose = purpose
    self.silence = silence
    self.credentials = credentials
    origin = url
    authenticator = Authenticator(
      credentials: credentials, allowsBasic: configuration.allowsBasic, randomness: randomness)
    streams = RTSPStreams(carrier: configuration.delivery.firstCarrier(isSecure: url.isSecure))
    redirections = Redirections(from: url)
    phase = .ended
    connect(at: now)
  }

  // MARK: What happened

  /// The connection stands; `isInside` says that it leads to this machine or its link
  /// (``ServerURL/isConfined(_:)``), to which no server far away may redirect anybody by a name.
  mutating func connectionOpened(isInside: Bool = false, at now: Instant) {
    guard case .connecting = phase else { return }
    if beganInside == false, isInside {
      return end(.failed(.redirectRefused(to: url.description)))
    }
    beganInside = beganInside ?? isInside
    phase = .settingUp
    if hasAskedOptions { describe(at: now) } else { askOptions(at: now) }
  }

  mutating func connectionFailed(at now: Instant) {
    guard case .connecting = phase else { return }
    end(.notConnected)
  }

  /// The server closed the connection; all that came before has been told.
  mutating func connectionClosed(at now: Instant) {
    switch phase {
    case .ended: break
    case .tearingDown: end(.finished)
    case .connecting: end(.notConnected)
    case .settingUp
    where !isSetUp && hasBeenAnswered && reconnections < Self.maximumReconnections:
      // Some servers close after 401, or after OPTIONS, and answer the same in a new connection.
      reconnections += 1
      report(.reconnected)
      connect(at: now)
    case .settingUp, .playing, .paused: end(.failed(.connectionClosed))
    }
  }

  /// What the connection brings can not be understood.
  mutating func inputFailed(_ error: RTSPError, at now: Instant) { fail(error, at: now) }

  /// Says what is to become of a frame that came in the connection; to be called for every one.
  ///
  /// Frames count from the moment their stream is set up, also before PLAY is answered: many servers
  /// send at once, and the first picture is the one without which the others are of no use.
  mutating func route(channel: UInt8, at now: Instant) -> Route {
    let route = streams.route(channel)
    switch route {
    case .deliver(.media, let track) where track == streams.selectedTrack: lastMedia = now
    case .unassigned: report(.unassignedChannel(channel))
    case .deliver, .unwanted: break
    }
    return route
  }

  /// Media of the selected stream came over UDP.
  mutating func mediaArrived(at now: Instant) { lastMedia = now }

  /// The sockets of ``Action/openPorts(media:_:)`` are open.
  mutating func portsOpened(_ ports: ClientPorts, forMedia media: Int, at now: Instant) {
    guard case .settingUp = phase, exchanges.awaited == nil, streams.current?.media == media else {
      return
    }
    switch streams.carrier {
    case .udp:
      streams.setPorts(ports, ofMedia: media)
      requestSetUp(at: now)
    case .multicast:
      streams.advance()
      setUpNext(at: now)
    case .connection: break
    }
  }

  /// The sockets of ``Action/openPorts(media:_:)`` could not be opened.
  mutating func portsFailed(forMedia media: Int, at now: Instant) {
    guard case .settingUp = phase, exchanges.awaited == nil, streams.current?.media == media else {
      return
    }
    if streams.current?.role != .selected { return leaveOut(status: nil, at: now) }
    guard configuration.delivery == .automatic, streams.carrier == .udp else {
      leave(at: now)
      return end(.notConnected)
    }
    giveUpOnUDP(.portsUnavailable, error: .deliveryRefused, at: now)
  }

  // MARK: What is wanted

  /// Halts the stream; without effect unless it plays.
  mutating func pause(at now: Instant) {
    guard case .playing = phase, exchanges.awaited == nil else { return }
    send(.pause, "PAUSE", to: aggregateURL, at: now)
  }

  /// Lets the stream go on from where it was halted; without effect unless it was.
  mutating func resume(at now: Instant) {
    guard case .paused = phase, exchanges.awaited == nil else { return }
    // Without Range a stream goes on where it was halted (RFC 2326 §10.5).
    send(.play, "PLAY", to: aggregateURL, at: now)
  }

  /// Ends the session in order; it is over within a second.
  mutating func teardown(at now: Instant) {
    switch phase {
    case .ended, .tearingDown: break
    case .settingUp, .playing, .paused:
      guard isSetUp else { return end(.finished) }
      phase = .tearingDown
      keepAlive.stop()
      send(.teardown, "TEARDOWN", to: aggregateURL, at: now)
    case .connecting: end(.finished)
    }
  }

  // MARK: Time

  /// When ``wake(at:)`` is to be called at the latest.
  var deadline: Instant? {
    let waits = [connectionDeadline, exchanges.deadline, mediaDeadline?.instant, keepAlive.due]
    return phase == .ended ? nil : waits.compactMap(\.self).min()
  }

  mutating func wake(at now: Instant) {
    if let connectionDeadline, connectionDeadline <= now {
      return end(.failed(.connectTimedOut(seconds: Self.connectDeadline.wholeSeconds)))
    }
    if let late = exchanges.awaited, let due = exchanges.deadline, due <= now {
      guard late.purpose != .teardown else { return end(.finished) }
      return fail(
        .noResponse(
          method: late.request.method, seconds: Self.responseDeadline.wholeSeconds), at: now)
    }
    if let mediaDeadline, mediaDeadline.instant <= now {
      let seconds = mediaDeadline.limit.wholeSeconds
      if lastMedia != nil { return fail(.mediaStopped(seconds: seconds), at: now) }
      return giveUpOnUDP(.udpSilent, error: .noMedia(seconds: seconds), at: now)
    }
    if let due = keepAlive.due, due <= now { sendKeepAlive(at: now) }
  }

  // MARK: What is to be done

  /// Takes out the next action.
  mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

  /// The channels on which frames can be expected, to find the beginning of one by.
  var assignedChannels: [UInt8] { streams.assignedChannels }

  /// The channel on which RTCP for a track goes to the server; `nil` over UDP.
  func feedbackChannel(ofTrack track: Int) -> UInt8? { streams.feedbackChannel(ofTrack: track) }

  mutating func perform(_ action: Action) {
    if phase != .ended { actions.append(action) }
  }

  mutating func report(_ diagnostic: RTSPDiagnostic) {
    guard reported.count < Self.maximumDiagnostics, reported.insert(diagnostic).inserted else {
      return
    }
    perform(.report(diagnostic))
  }

  mutating func end(_ end: End) {
    perform(.end(end))
    phase = .ended
  }

  private var connectionDeadline: Instant? {
    if case .connecting(let deadline) = phase { return deadline }
    return nil
  }

  /// When the stream will have been silent for too long, and for how long that is.
  private var mediaDeadline: (instant: Instant, limit: Duration)? {
    // While PAUSE is under way, nobody knows whether the server has halted.
    guard case .playing(let start) = phase, exchanges.awaited == nil else { return nil }
    let mayFallBack =
      lastMedia == nil && streams.carrier == .udp
      && configuration.delivery == .automatic
    guard let limit = mayFallBack ? Self.udpPatience : silence else { return nil }
    return (max(lastMedia ?? start, start).advanced(by: limit), limit)
  }

  static let connectDeadline = Duration.seconds(10)
  static let responseDeadline = Duration.seconds(10)
  /// A program that ends must not hang on a server that does not.
  static let teardownDeadline = Duration.seconds(1)
  /// How long UDP is given before the stream is asked for in the connection.
  static let udpPatience = Duration.seconds(3)
  /// Connections that a server may close during set-up.
  static let maximumReconnections = 2
  /// Kinds of deviations that are reported; a server can invent channels and addresses.
  static let maximumDiagnostics = 64
}

extension RTSPConfiguration.Delivery {
  fileprivate func firstCarrier(isSecure: Bool) -> RTSPStreams.Carrier {
    switch self {
    case .automatic: isSecure ? .connection : .udp
    case .tcp: .connection
    case .udp: .udp
    case .multicast: .multicast
    }
  }
}

extension Duration {
  fileprivate var wholeSeconds: Int { Int(clamping: components.seconds) }
}
