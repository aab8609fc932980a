import BlockingIO
internal import NIOCore
internal import RTPWire

/// Receives an HTTP stream on its event loop: follows redirects, extracts packets from the body,
/// and watches the time.
///
/// Its transfer and its alarm keep it alive. It always ends, and then it releases everything.
final class HTTPReceiver: PacketReceiver {
  private let eventLoop: any EventLoop
  private let configuration: HTTPConfiguration
  private let origin: ServerURL
  private let sockets: UDPTransport.SocketConfiguration
  private let credentials: Credentials?
  private var sink: (any DatagramSink)?
  private var opening: EventLoopPromise<Void>?
  private var redirections: Redirections
  private var transfer: HTTPTransfer?
  /// Incremented with each new request, so that events of an earlier one are ignored.
  private var attempt = 0
  private var count = TransportCounters()

  private var body: FramedDelivery
  private var isHeld = false
  /// How the transfer ended; reported after the waiting packets.
  private var pendingEnd: HTTPTransferEnd.Outcome?
  /// Whether the first connection led to this machine or its link, so that a redirect may too.
  private var beganInside: Bool?

  private var phase = Phase.connecting
  private var since: Instant
  private var alarm = Alarm()

  /// What the stream is waiting for.
  private enum Phase: Sendable {
    case connecting, answer, media
  }

  init(
    _ url: ServerURL, credentials: Credentials?, configuration: HTTPConfiguration,
    sockets: UDPTransport.SocketConfiguration, on eventLoop: any EventLoop,
    delivering sink: any DatagramSink
  ) {
    self.eventLoop = eventLoop
    self.configuration = configuration
    self.sockets = sockets
    self.credentials = credentials
    self.sink = sink
    origin = url
    redirections = Redirections(from: url)
    body = FramedDelivery(.rtp4, limit: configuration.packetLimit)
    since = Instant.now
    if url.isSecure, let remark = configuration.tls.remark { count.note(remark) }
  }

  /// Starts the request; the future succeeds once the server has answered with a stream.
  func start() -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    opening = promise
    connect(to: origin)
    return promise.futureResult
  }

  func close() { end(.closed) }

  /// Makes the server wait, by not taking what it sends.
  func holdReading(_ isHeld: Bool) {
    guard sink != nil, self.isHeld != isHeld else { return }
    self.isHeld = isHeld
    if let transfer, transfer.hold(isHeld) { HTTPTransfers.shared.resume(transfer) }
    guard !isHeld else { return }
    // This side caused the silence, so it does not count.
    since = Instant.now
    watch()
    // The sink may be the caller, so it must not be called from here.
    eventLoop.assumeIsolated().execute { self.deliver() }
  }

  var counters: TransportCounters {
    var counters = count
    counters.delivered = body.delivered
    counters.deliveredBytes = body.deliveredBytes
    counters.empty = body.emptyPackets
    return counters
  }

  // MARK: - The exchange

  private func connect(to url: ServerURL) {
    connect(
      with: HTTPTransfer.Request(
        url: url, credentials: url.takesCredentials(of: origin) ? credentials : nil,
        configuration: configuration, sockets: sockets, staysOutside: beganInside == false))
  }

  private func connect(with request: HTTPTransfer.Request) {
    phase = .connecting
    attempt += 1
    do {
      let receiver = NIOLoopBound(self, eventLoop: eventLoop)
      let transfer = try HTTPTransfer(request) { [eventLoop, attempt] event in
        eventLoop.execute { receiver.value.take(event, ofAttempt: attempt) }
      }
      self.transfer = transfer
      try HTTPTransfers.shared.start(transfer)
    } catch {
      end(.failed(error))
    }
  }

  private func take(_ event: HTTPTransfer.Event, ofAttempt attempt: Int) {
    guard sink != nil, attempt == self.attempt else { return }
    switch event {
    case .connected(let local, let remote):
      count.localAddress = local
      beganInside = beganInside ?? ServerURL.isConfined(remote)
      if phase == .connecting { enter(.answer) }
    case .answered(let head, let offers):
      note(offers)
      if let objection = head.objection { return end(.failed(objection)) }
      enter(.media)
      opening?.succeed()
      opening = nil
    case .body(let bytes, let arrival):
      body.append(bytes, at: arrival)
      deliver()
    case .ended(let end):
      note(end.offers)
      pendingEnd = end.outcome
      deliver()
    }
  }

  private func note(_ offers: HTTPLoginOffers) {
    guard let request = transfer?.request, request.credentials != nil else { return }
    if offers.digest { count.hasUsedDigest = true }
    guard offers.basic, !offers.digest, !request.url.isSecure else { return }
    count.note(
      .warning(
        "the password was sent unencrypted (Basic authentication); "
          + "switch the server to digest authentication, or use https://"))
  }

  private func finish(_ outcome: HTTPTransferEnd.Outcome) {
    switch outcome {
    case .redirected(let location): follow(location)
    case .failed(HTTPError.credentialsMissing) where credentials != nil:
      end(.failed(HTTPError.credentialsNotForwarded(to: transfer?.request.url.description ?? "")))
    case .failed(TLSError.untrusted(let host, nil)): inspect(host)
    case .failed(let error): end(.failed(error))
    case .complete where body.isInsidePacket: end(.failed(HTTPError.endedInPacket))
    case .complete where body.delivered == 0: end(.failed(HTTPError.empty))
    case .complete: end(.ended)
    }
  }

  /// Connects once more to a server that is not trusted, to name its certificate in the error.
  private func inspect(_ host: String) {
    guard let request = transfer?.request.asInspection else {
      return end(.failed(TLSError.untrusted(host: host, fingerprint: nil)))
    }
    connect(with: request)
  }

  private func follow(_ location: String) {
    guard let url = transfer?.request.url else { return }
    do throws(Redirections.Fault) {
      let target = try redirections.follow(location, from: url)
      count.note("redirected to \(ServerURL.withoutUser(location))")
      connect(to: target)
    } catch {
      switch error {
      case .refused: end(.failed(HTTPError.redirectRefused(to: location)))
      case .tooOften(let limit): end(.failed(HTTPError.redirectedTooOften(limit: limit)))
      }
    }
  }

  /// Reports the end, once; nothing is delivered after it.
  private func end(_ end: TransportEnd) {
    guard let sink else { return }
    self.sink = nil
    alarm.cancel()
    if let transfer { HTTPTransfers.shared.cancel(transfer) }
    transfer = nil
    guard let opening else { return sink.transportEnded(end) }
    self.opening = nil
    switch end {
    case .ended: opening.fail(HTTPError.empty)
    case .failed(let error): opening.fail(error)
    case .closed: opening.fail(TransportError.closed)
    }
  }

  // MARK: - The body

  /// Delivers the packets that have come, while they are wanted.
  private func deliver() {
    do throws(FramedDelivery.Fault) {
      while let sink, !isHeld, let event = try body.next() {
        switch event {
        case .packet(let datagram): sink.receive(datagram)
        case .readCompleted(let bytes, let arrival):
          sink.readCompleted(at: arrival)
          if let transfer, transfer.workedOff(bytes) { HTTPTransfers.shared.resume(transfer) }
          // Between two reads, other work on the event loop gets its turn.
          guard body.isWorkedOff else {
            return eventLoop.assumeIsolated().execute { self.deliver() }
          }
        }
      }
    } catch {
      return end(.failed(HTTPError(error)))
    }
    guard sink != nil, !isHeld, let outcome = pendingEnd else { return }
    pendingEnd = nil
    finish(outcome)
  }

  // MARK: - Time

  private func enter(_ phase: Phase) {
    self.phase = phase
    since = Instant.now
    watch()
  }

  /// When the stream fails if nothing more happens, and with which error; libcurl itself limits the
  /// time to connect.
  private var deadline: (at: Instant, error: HTTPError)? {
    switch phase {
    case .connecting: return nil
    case .answer:
      let wait = configuration.answerTime
      return (
        since.advanced(by: wait), .noResponse(seconds: Int(wait.components.seconds))
      )
    case .media:
      guard let silence = configuration.silence, !isHeld else { return nil }
      let seconds = Int(silence.components.seconds)
      let start = max(body.lastPacket ?? since, since)
      return (
        start.advanced(by: silence),
        body.lastPacket == nil ? .noMedia(seconds: seconds) : .mediaStopped(seconds: seconds)
      )
    }
  }

  /// Ends a stream whose deadline has come, and otherwise looks again when it comes.
  private func watch() {
    guard sink != nil, let deadline else { return alarm.cancel() }
    guard deadline.at > Instant.now else { return end(.failed(deadline.error)) }
    alarm.set(for: deadline.at, on: eventLoop) {
      self.alarm.rang()
      self.watch()
    }
  }
}
