import BlockingIO
internal import NIOCore
internal import RTPWire

/// A running RTSP session on its event loop: performs the session's actions, and reports the
/// results to the session and the sink.
///
/// Its connection and its alarm keep it alive. The session always ends, and then it releases
/// everything.
final class RTSPReceiver: PacketReceiver {
  let eventLoop: any EventLoop
  private let configuration: RTSPConfiguration
  let sockets: UDPTransport.SocketConfiguration
  var sink: (any DatagramSink)?
  var session: RTSPSession
  var connection: RTSPConnection?
  var ports: [Int: RTSPMediaPorts] = [:]
  /// How many pairs of ports were asked for, also those that could not be opened.
  var pairsAsked = 0
  private var alarm = Alarm()
  private var opening: EventLoopPromise<Void>?
  /// The server's description, once it has come.
  private(set) var description: SessionDescription?
  /// Decrypts for the sink when the keys are in the description.
  private var protection: SRTPReceiver?
  private var isSecure: Bool
  /// The indices, in the description, of the delivered streams, and of the one that must not fail.
  var tracks: [Int] = []
  var selected: Int?
  var count = TransportCounters()
  private var arrivals = MonotonicArrivals()
  /// Why there is no connection.
  var failure: (any Error)?

  init(
    _ url: ServerURL, credentials: Credentials?, configuration: RTSPConfiguration,
    sockets: UDPTransport.SocketConfiguration, purpose: RTSPSession.Purpose,
    on eventLoop: any EventLoop, delivering sink: (any DatagramSink)?
  ) {
    self.eventLoop = eventLoop
    self.configuration = configuration
    self.sockets = sockets
    self.sink = sink
    isSecure = url.isSecure
    session = RTSPSession(
      configuration: configuration, url: url, credentials: credentials, purpose: purpose,
      silence: configuration.silence, randomness: SystemRandomNumberGenerator(), at: Instant.now)
    if url.isSecure, let remark = configuration.tls.remark { count.note(remark) }
  }

  // MARK: What is wanted

  /// Starts the session; the future succeeds once the stream plays or its first packet has come,
  /// or, if only a description is wanted, once the session is over.
  func start() -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    opening = promise
    act()
    return promise.futureResult
  }

  /// Ends the delivery at once, and the session with TEARDOWN afterwards.
  func close() {
    end(.closed)
    session.teardown(at: Instant.now)
    act()
  }

  /// Sends RTCP back the way the media comes: in the connection or over UDP.
  func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    guard sink != nil, tracks.indices.contains(track) else { return }
    var bytes = bytes
    if let protection {
      guard let protected = protection.protect(bytes, track: track) else { return }
      bytes = protected
    }
    if let receiver = ports[tracks[track]]?.receiver {
      receiver.sendFeedback(bytes)
    } else if let channel = session.feedbackChannel(ofTrack: track) {
      connection?.send(bytes, onChannel: channel)
    }
  }

  /// Makes the server wait, unless its media comes over UDP.
  func holdReading(_ isHeld: Bool) {
    guard ports.isEmpty else { return }
    connection?.holdReading(isHeld)
    session.hold(isHeld, at: Instant.now)
    act()
  }

  func gather(for time: Duration) {
    if ports.isEmpty {
      connection?.gather(for: time)
    } else {
      for ports in ports.values { ports.receiver?.gather(for: time) }
    }
  }

  var counters: TransportCounters {
    var counters = count
    counters.skippedBytes += connection?.skipped ?? 0
    counters.hasUsedDigest = session.authenticator.hasSeenDigest
    counters.rtsp.impatience = session.wasImpatient.map { $0 ? 1 : 0 }
    counters.rtsp.unanswered = session.exchanges.unanswered
    for (media, ports) in ports {
      if let receiver = ports.receiver {
        counters.add(receiver.counters, isFirst: media == selected)
      }
    }
    protection?.complete(&counters)
    return counters
  }

  // MARK: What is to be done

  /// Performs the session's actions and sets the alarm for its deadline.
  func act() {
    while let action = session.nextAction() { perform(action) }
    connection?.assignedChannels = session.assignedChannels
    guard let deadline = session.deadline else { return alarm.cancel() }
    alarm.set(for: deadline, on: eventLoop) {
      self.alarm.rang()
      self.session.wake(at: Instant.now)
      self.act()
    }
  }

  private func perform(_ action: RTSPSession.Action) {
    switch action {
    case .connect(let url, let tunnel): connect(to: url, through: tunnel)
    case .request(let request): connection?.send(request)
    case .respond(let response): connection?.send(response)
    case .describe(let description, let selected, let tracks):
      self.description = description
      self.selected = selected
      self.tracks = tracks
      count.leavesSoundOut =
        configuration.selection != .everything
        && selected.map { description.hasSound(besideVideo: $0) } ?? false
      protect()
    case .openPorts(let media, let ports): open(ports, forMedia: media)
    case .expectMedia(let media, let server): expect(server, forMedia: media)
    case .closePorts: closePorts()
    case .playing:
      for ports in ports.values { ports.punch() }
      becomeOpen()
    case .report(let diagnostic):
      switch diagnostic {
      // Also where the other way never gets as far as to play.
      case .udpSilent: count.carriage = .tcp
      case .closedUponKeepAlive(let method): count.rtsp.fatalKeepAlives.insert(method)
      default: break
      }
      count.note(TransportDiagnostic(diagnostic.description, weight: diagnostic.weight))
    case .end(let end): finish(end)
    }
  }

  /// Inserts decryption between media and sink, if the description asks for it and the sink does
  /// not decrypt by itself.
  private func protect() {
    guard let sink, !sink.authenticates, let description, let selected,
      description.media.indices.contains(selected), description.media[selected].isProtected
    else { return }
    let exposure = isSecure ? nil : "the connection is not encrypted"
    do throws(SRTPError) {
      // The key may be missing for streams that are allowed to fail.
      var configurations: [SRTPConfiguration?] = []
      for media in tracks {
        do throws(SRTPError) {
          configurations.append(
            try description.protection(
              ofMedia: media, configuration.protection, exposure: exposure))
        } catch {
          if media == selected { throw error }
          configurations.append(nil)
        }
      }
      let receiver = try SRTPReceiver(.tracks(configurations), on: eventLoop, delivering: sink)
      protection = receiver
      self.sink = receiver
    } catch { mediaFailed(error) }
  }

  private func connect(to url: ServerURL, through tunnel: HTTPTunnelRequests?) {
    isSecure = url.isSecure
    closeConnection()
    let connection = RTSPConnection(
      url,
      TCPConnector(host: url.host, port: url.port, sockets: sockets, eventLoop: eventLoop),
      through: tunnel,
      for: RTSPConnection.Owner(
        reached: { address in
          self.session.connectionReached(
            isInside: address?.ipAddress.map(ServerURL.isConfined) ?? false)
          self.act()
        },
        opened: { now in
          self.count.localAddress = self.connection?.addresses?.local.endpoint
          self.session.connectionOpened(at: now)
          self.act()
        },
        element: { self.receive($0, at: $1) },
        readCompleted: { now in
          self.readCompleted(at: now)
          self.act()
        },
        inputFailed: { error, now in
          self.session.inputFailed(error, at: now)
          self.act()
        },
        failed: { error, now in
          self.failure = self.withoutSecrets(error)
          if let login = error as? HTTPTunnel.Challenged {
            self.session.tunnelChallenged(login.challenges, at: now)
          } else {
            self.session.connectionFailed(at: now)
          }
          self.act()
        },
        closed: { error, now in
          self.failure = self.withoutSecrets(error)
          self.session.connectionClosed(at: now)
          self.act()
        }))
    self.connection = connection
    failure = nil
    connection.open(configuration.tls)
  }

  /// What opens the tunnel and is refused has been sent secrets, too.
  private func withoutSecrets(_ error: (any Error)?) -> (any Error)? {
    (error as? RTSPError).map { session.withoutSecrets($0) } ?? error
  }

  private func closeConnection() {
    count.skippedBytes += connection?.skipped ?? 0
    connection?.close()
    connection = nil
  }

  private func finish(_ end: RTSPSession.End) {
    switch end {
    case .finished: self.end(.ended)
    case .notConnected:
      // The kernel's words for a reset in the middle of an opening name no peer.
      let reason = failure is IOError ? nil : failure
      self.end(.failed(reason ?? RTSPError.connectionClosed))
    case .failed(.connectTimedOut(let seconds)):
      let culprit = connection?.delay(seconds: seconds)
      self.end(.failed(culprit ?? RTSPError.connectTimedOut(seconds: seconds)))
    case .failed(let error) where error == .connectionClosed || error == .brokenOff:
      // With TLS 1.3 a server refuses the client's certificate only after the handshake.
      self.end(.failed(failure as? any TransportFault ?? error))
    case .failed(let error): self.end(.failed(error))
    }
    closeConnection()
  }

  /// Reports the end, once; nothing is delivered after it.
  func end(_ end: TransportEnd) {
    switch end {
    case .ended, .failed:
      // What came before the end is of the stream.
      for ports in ports.values { ports.receiver?.gather(for: .zero) }
    case .closed: break
    }
    closePorts()
    let sink = self.sink
    self.sink = nil
    guard let opening else {
      sink?.transportEnded(end)
      return
    }
    self.opening = nil
    protection?.abandon()
    switch end {
    case .ended where description != nil && sink == nil: opening.succeed()
    case .ended: opening.fail(RTSPError.connectionClosed)
    case .failed(let error): opening.fail(error)
    case .closed: opening.fail(TransportError.closed)
    }
  }

  // MARK: Media

  private func receive(_ element: consuming RTSPElement, at now: Instant) {
    switch consume element {
    case .frame(let channel, let bytes):
      switch session.route(channel: channel, at: now) {
      case .deliver(let kind, let track):
        // As an argument it would be copied, and the first one destroyed.
        let datagram = Datagram(bytes: bytes, arrival: now, channel: kind, track: track)
        deliver(consume datagram)
      case .unwanted: count.unwanted += 1
      case .unassigned: count.unassigned += 1
      }
    case .response(let response):
      session.receive(response, at: now)
      act()
    case .request(let request):
      session.receive(request, at: now)
      act()
    }
  }

  @discardableResult
  func deliver(_ datagram: consuming Datagram) -> Bool {
    // Many servers send media before they answer PLAY.
    if opening != nil { becomeOpen() }
    guard let sink else { return false }
    guard datagram.bytes.readableBytes > 0 else {
      count.empty += 1
      return false
    }
    datagram.arrival = arrivals.order(datagram.arrival)
    count.delivered += 1
    count.deliveredBytes += UInt64(datagram.bytes.readableBytes)
    return sink.admit(datagram)
  }

  func readCompleted(at now: Instant) {
    if opening == nil { sink?.readCompleted(at: now) }
  }

  /// The stream has begun: from now on the sink is told of the end.
  private func becomeOpen() {
    let selected = self.selected.flatMap { ports[$0] }
    count.carriage = selected.map { $0.isMulticast ? .multicast : .udp } ?? .tcp
    guard let opening, let sink else { return }
    self.opening = nil
    if let description, !tracks.isEmpty {
      sink.describe(tracks.map { description.media[$0].description })
    }
    opening.succeed()
  }
}
