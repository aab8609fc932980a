internal import RTPWire

/// An RTSP session as a value (RFC 2326 appendix A): events and `now` go in, actions come out.
///
/// The shell owns the sockets. After every call it takes actions with ``nextAction()`` until there
/// are none, and performs them in order. The session reads no clock, opens nothing and knows no
/// thread. Every wait ends by ``deadline``, when the shell calls ``wake(at:)``. Media moves the
/// deadline later, so a timer that is not moved with every packet merely fires early.
struct RTSPSession: Sendable {
  var phase: Phase
  /// What is known of this connection, and forgotten with it.
  var connection = OnConnection()
  /// What is known of this server, and forgotten when a redirect leads to another.
  var server: OnServer

  // MARK: Of the address, which every redirect changes

  /// The current server, and the address of the stream on it.
  var url: ServerURL
  /// After a redirect only the carrier is still known.
  var setups: RTSPSetups

  // MARK: Of the whole session

  /// A server must not get away with weaker authentication than the one that led to it.
  var authenticator: Authenticator
  /// The numbers of requests go on from connection to connection.
  var exchanges = RTSPExchanges()
  var redirections: Redirections
  /// What the shell was told of the streams, wherever they came from.
  var described: DescribedStreams?
  /// Until when this side did not read: the silence before was its own.
  private var lastHeld: Instant?
  private var isHeld = false
  /// Whether the first connection led to this machine or its link, so that a redirect may too.
  private var beganInside: Bool?

  let configuration: RTSPConfiguration
  let purpose: Purpose
  let credentials: Credentials?
  /// The server that the credentials belong to.
  let origin: ServerURL
  private let silence: Duration?
  /// Whether a longer wait may have helped, once it has ended; `nil` if the end says nothing of
  /// that.
  private(set) var wasImpatient: Bool?
  private var actions: [Action] = []
  private var reported: Set<RTSPDiagnostic> = []

  /// The phase of a session; RFC 2326 §A.1 calls it Init until the first SETUP is answered, then
  /// Ready, and Playing.
  enum Phase: Sendable, Hashable {
    case connecting(until: Instant)
    /// From OPTIONS to the response to PLAY: Init, then Ready.
    case settingUp
    /// Playing, since the response to PLAY.
    case playing(since: Instant)
    case tearingDown
    case ended
  }

  /// Begins a session; its first action is to connect.
  ///
  /// The credentials are for the server of `url` and no other. The session ends when the stream
  /// brings nothing for `silence`, or longer after connections that were given up too soon; `nil`
  /// waits forever. The nonces of digest authentication come from `randomness`.
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
    server = OnServer(configuration)
    setups = RTSPSetups(carrier: configuration.lowerTransport.firstCarrier(isSecure: url.isSecure))
    redirections = Redirections(from: url)
    phase = .ended
    connect(at: now)
  }

  // MARK: What happened

  /// Where the connection leads is known, and no request has left by it, not even that of a tunnel.
  ///
  /// `isInside` says that it leads to this machine or its link (``ServerURL/isConfined(_:)``), to
  /// which no distant server may redirect, not even by a name.
  mutating func connectionReached(isInside: Bool) {
    guard case .connecting = phase else { return }
    if beganInside == false, isInside {
      return end(.failed(.redirectRefused(to: url.description)))
    }
    connection.isInside = isInside
  }

  /// The connection is open, and the tunnel in it, if there is one.
  mutating func connectionOpened(at now: Instant) {
    guard case .connecting = phase else { return }
    beganInside = beganInside ?? connection.isInside
    phase = .settingUp
    if server.hasAskedOptions { describe(at: now) } else { askOptions(at: now) }
  }

  mutating func connectionFailed(at now: Instant) {
    guard case .connecting = phase else { return }
    end(.notConnected)
  }

  /// The server closed the connection; everything that came before has been reported.
  mutating func connectionClosed(at now: Instant) {
    switch phase {
    case .ended: break
    case .tearingDown: end(.finished)
    case .connecting: end(.notConnected)
    case .settingUp where mayConnectAgain:
      // Some servers close after 401 or after OPTIONS, and answer the same request on a new
      // connection.
      report(.reconnected)
      connectAgain(without: obstacle, after: exchanges.awaited?.attempts, at: now)
    case .settingUp: end(.failed(.connectionClosed))
    case .playing:
      if let method = keepAliveToBlame(at: now) { report(.closedUponKeepAlive(method: method)) }
      end(.failed(.brokenOff))
    }
  }

  /// The connection's bytes cannot be understood.
  mutating func inputFailed(_ error: RTSPError, at now: Instant) { fail(error, at: now) }

  /// Says where an interleaved frame goes; must be called for every one.
  ///
  /// Frames count once their stream is set up, even before PLAY is answered: many servers send at
  /// once, and without the first picture the others are of no use.
  mutating func route(channel: UInt8, at now: Instant) -> Route {
    let route = setups.route(channel)
    switch route {
    case .deliver(.media, let track) where track == setups.selectedTrack:
      connection.noteMedia(at: now, longestPause: silence)
    case .unassigned: report(.unassignedChannel(channel))
    case .deliver, .unwanted: break
    }
    return route
  }

  /// Media of the selected stream came over UDP.
  mutating func mediaArrived(at now: Instant) {
    connection.noteMedia(at: now, longestPause: silence)
  }

  /// The sockets of ``Action/openPorts(media:_:)`` are open.
  mutating func portsOpened(_ ports: ClientPorts, forMedia media: Int, at now: Instant) {
    guard case .settingUp = phase, exchanges.awaited == nil, setups.current?.media == media else {
      return
    }
    switch setups.carrier {
    case .udp:
      setups.setPorts(ports, ofMedia: media)
      requestSetUp(at: now)
    case .multicast:
      setups.advance()
      setUpNext(at: now)
    case .connection: break
    }
  }

  /// The sockets of ``Action/openPorts(media:_:)`` could not be opened.
  mutating func portsFailed(forMedia media: Int, at now: Instant) {
    guard case .settingUp = phase, exchanges.awaited == nil, setups.current?.media == media else {
      return
    }
    if setups.current?.role != .selected { return leaveOut(status: nil, at: now) }
    guard mayLeaveUDP else {
      leave(at: now)
      return end(.notConnected)
    }
    giveUpOnUDP(.portsUnavailable, error: .deliveryRefused, at: now)
  }

  // MARK: What is wanted

  /// This side stops reading the connection, or goes on.
  mutating func hold(_ isHeld: Bool, at now: Instant) {
    if self.isHeld { lastHeld = now }
    self.isHeld = isHeld
  }

  /// Ends the session with TEARDOWN; it is over within a second.
  mutating func teardown(at now: Instant) {
    switch phase {
    case .ended, .tearingDown: break
    case .settingUp, .playing:
      guard connection.isSetUp else { return end(.finished) }
      phase = .tearingDown
      send(.teardown, "TEARDOWN", to: aggregateURL, at: now)
    case .connecting: end(.finished)
    }
  }

  // MARK: Time

  /// When ``wake(at:)`` must be called at the latest.
  ///
  /// It changes nothing; but if it could not, each read would copy the session to ask.
  var deadline: Instant? {
    mutating get {
      guard phase != .ended else { return nil }
      var due = connectionDeadline
      func consider(_ wait: Instant?) {
        if let wait { due = min(due ?? wait, wait) }
      }
      consider(exchanges.deadline)
      consider(connection.setUpDue)
      consider(mediaDeadline?.instant)
      consider(keepAliveDue)
      return due
    }
  }

  mutating func wake(at now: Instant) {
    if let connectionDeadline, connectionDeadline <= now {
      return end(.failed(.connectTimedOut(seconds: Self.connectDeadline.wholeSeconds)))
    }
    if let late = exchanges.awaited, let due = exchanges.deadline, due <= now {
      guard late.purpose != .teardown else { return end(.finished) }
      // A server that sends the stream plays it, whatever becomes of its answer.
      if late.purpose == .play, let lastMedia = connection.lastMedia,
        lastMedia.duration(to: now) <= patience
      {
        exchanges.abandon()
        return playBegan(at: now)
      }
      if let obstacle, server.reconnections < Self.maximumReconnections {
        leave(at: now)
        return connectAgain(without: obstacle, at: now)
      }
      return fail(
        .noResponse(method: late.request.method, seconds: patience.wholeSeconds), at: now)
    }
    if let due = connection.setUpDue, due <= now {
      connection.setUpDue = nil
      return requestSetUp(at: now)
    }
    if let mediaDeadline, mediaDeadline.instant <= now {
      let seconds = mediaDeadline.limit.wholeSeconds
      if connection.lastMedia != nil { return fail(.mediaStopped(seconds: seconds), at: now) }
      let isOverUDP = setups.carrier != .connection
      return giveUpOnUDP(
        .udpSilent, error: .noMedia(seconds: seconds, isOverUDP: isOverUDP), at: now)
    }
    if let keepAliveDue, keepAliveDue <= now { sendKeepAlive(at: now) }
  }

  private var mayConnectAgain: Bool {
    (!connection.isSetUp || obstacle != nil) && connection.hasBeenAnswered
      && server.reconnections < Self.maximumReconnections
      && exchanges.awaited?.attempts.areExhausted != true
  }

  // MARK: What is to be done

  /// Removes and returns the next action.
  mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

  /// The channels on which frames are expected; they help to recognize the start of a frame.
  var assignedChannels: [UInt8] { setups.assignedChannels }

  /// The channel on which RTCP for a track goes to the server; `nil` over UDP, and where the server
  /// takes it for something else.
  func feedbackChannel(ofTrack track: Int) -> UInt8? {
    sendsFeedback ? setups.feedbackChannel(ofTrack: track) : nil
  }

  mutating func perform(_ action: Action) {
    if phase != .ended { actions.append(action) }
  }

  mutating func report(_ diagnostic: RTSPDiagnostic) {
    // A server can invent channels and addresses without end.
    guard reported.count < TransportCounters.maximumDiagnostics,
      reported.insert(diagnostic).inserted
    else { return }
    perform(.report(diagnostic))
  }

  mutating func end(_ end: End) {
    if phase != .ended { wasImpatient = isImpatient(end) }
    if case .failed(let error) = end {
      perform(.end(.failed(withoutSecrets(error))))
    } else {
      perform(.end(end))
    }
    phase = .ended
  }

  private func isImpatient(_ end: End) -> Bool? {
    switch end {
    case .failed(.noResponse), .failed(.noMedia): return true
    case .failed(.mediaStopped) where !connection.isSteady: return true
    default: return connection.isSteady ? false : nil
    }
  }

  private var connectionDeadline: Instant? {
    if case .connecting(let deadline) = phase { return deadline }
    return nil
  }

  private var keepAliveDue: Instant? {
    if case .playing = phase { return server.keepAlive.due }
    return nil
  }

  /// When the stream has been silent for too long, and the limit for that.
  private var mediaDeadline: (instant: Instant, limit: Duration)? {
    guard case .playing(let start) = phase, !isHeld else { return nil }
    let lastMedia = connection.lastMedia
    let mayFallBack = lastMedia == nil && mayLeaveUDP
    let longest = connection.isSteady ? silence : silence.map(configuration.patient)
    guard let limit = mayFallBack ? Self.udpPatience : longest else { return nil }
    return (max(lastMedia ?? start, start, lastHeld ?? start).advanced(by: limit), limit)
  }

  /// How long an answer may take: as long as the media, and 10 s at least.
  var patience: Duration {
    max(Self.leastPatience, silence.map(configuration.patient) ?? Self.greatestPatience)
  }

  static let connectDeadline = Duration.seconds(10)
  private static let leastPatience = Duration.seconds(10)
  /// That of who waits forever for media.
  private static let greatestPatience = Duration.seconds(60)
  /// A program that ends must not wait for a server that does not answer.
  static let teardownDeadline = Duration.seconds(1)
  /// How long to wait for media over UDP before the stream is moved into the connection.
  static let udpPatience = Duration.seconds(3)
  /// A server that closes the connection because of a keep-alive does so as soon as it has read it.
  static let keepAliveSuspicion = Duration.seconds(2)
  /// After so long a play, a redirect is no part of a circle of them.
  static let steadyPlay = Duration.seconds(10)
  /// How often a server may close the connection, or not answer, during set-up.
  static let maximumReconnections = 2
  /// How long a server may take to end the session that was left before the next one.
  static let formerSessionPatience = Duration.seconds(2)
}

extension RTSPConfiguration.LowerTransport {
  fileprivate func firstCarrier(isSecure: Bool) -> RTSPSetups.Carrier {
    switch self {
    case .automatic: isSecure ? .connection : .udp
    case .tcp, .http: .connection
    case .udp: .udp
    case .multicast: .multicast
    }
  }
}

extension Duration {
  fileprivate var wholeSeconds: Int { Int(clamping: components.seconds) }
}
