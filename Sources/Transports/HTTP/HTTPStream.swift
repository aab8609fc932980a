internal import NIOCore
internal import RTPWire

/// An HTTP stream at work, on its event loop: follows redirects, takes the body apart, and watches
/// the time.
///
/// While it works, its transfer and its timer keep it alive; it ends in any case, and then it lets go
/// of everything.
final class HTTPStream {
  private let eventLoop: any EventLoop
  private let configuration: HTTPConfiguration
  private let origin: ServerURL
  private let credentials: Credentials?
  private var sink: (any DatagramSink)?
  private var opening: EventLoopPromise<Void>?
  private var redirections: Redirections
  private var transfer: HTTPTransfer?
  /// Counted up with each address that is asked: what comes of one before concerns nobody.
  private var attempt = 0
  private var count = TransportCounters()

  private var packets: FramedPackets
  /// What has come of the body and has not been taken apart, since the sink wants no more for now.
  private var waiting = CircularBuffer<Portion>()
  private var isHeld = false
  /// Bytes that are being taken apart, and when they were read.
  private var underway = 0
  private var arrival = Instant(nanoseconds: .min)
  /// What the transfer came to, behind what waits.
  private var pendingEnd: HTTPTransferEnd.Outcome?
  /// Whether the first connection led to this machine or its link, so that a redirect may too.
  private var beganInside: Bool?

  private var phase = Phase.connecting
  private var since: Instant
  private var lastPacket: Instant?
  private var timer: Scheduled<Void>?

  private struct Portion {
    var bytes: ByteBuffer
    var arrival: Instant
  }

  /// What is waited for.
  private enum Phase: Sendable {
    case connecting, answer, media
  }

  /// How long headers may take, in all.
  private static let answerTime = Duration.seconds(10)
  /// Bytes of the shortest RTP packet (RFC 3550 §5.1): less tells nothing.
  private static let leastTelling = 12

  init(
    _ url: ServerURL, credentials: Credentials?, configuration: HTTPConfiguration,
    on eventLoop: any EventLoop, delivering sink: any DatagramSink
  ) {
    self.eventLoop = eventLoop
    self.configuration = configuration
    self.credentials = credentials
    self.sink = sink
    origin = url
    redirections = Redirections(from: url)
    packets = FramedPackets(.rtp4, limit: configuration.packetLimit)
    since = Self.now
    let tls = configuration.tls
    if url.isSecure, tls.acceptsAnything, tls.pin == nil {
      count.diagnostics.append("the server's certificate is not verified (--tls-insecure)")
    }
  }

  /// Begins; the future is kept when the server has answered with a stream.
  func start() -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    opening = promise
    connect(to: origin)
    return promise.futureResult
  }

  func close() { end(.closed) }

  /// Has the server wait, by leaving what it sends where it is.
  func holdReading(_ isHeld: Bool) {
    guard sink != nil, self.isHeld != isHeld else { return }
    self.isHeld = isHeld
    if let transfer, transfer.hold(isHeld) { HTTPTransfers.shared.resume(transfer) }
    guard !isHeld else { return }
    // The silence was this side's.
    since = Self.now
    watch()
    // Not from within the sink that this is called by.
    eventLoop.assumeIsolated().execute { self.takeApart() }
  }

  var counters: TransportCounters {
    var counters = count
    counters.empty = packets.emptyPackets
    return counters
  }

  // MARK: - The exchange

  private func connect(to url: ServerURL) {
    phase = .connecting
    attempt += 1
    do {
      let request = HTTPTransfer.Request(
        url: url, credentials: url.takesCredentials(of: origin) ? credentials : nil,
        configuration: configuration, staysOutside: beganInside == false)
      let stream = NIOLoopBound(self, eventLoop: eventLoop)
      let transfer = try HTTPTransfer(request) { [eventLoop, attempt] event in
        eventLoop.execute { stream.value.take(event, ofAttempt: attempt) }
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
      waiting.append(Portion(bytes: bytes, arrival: arrival))
      takeApart()
    case .ended(let end):
      note(end.offers)
      pendingEnd = end.outcome
      takeApart()
    }
  }

  private func note(_ offers: HTTPLoginOffers) {
    guard let request = transfer?.request, request.credentials != nil else { return }
    if offers.digest { count.hasUsedDigest = true }
    guard offers.basic, !offers.digest, !request.url.isSecure else { return }
    report(
      "warning: the password was sent unencrypted (Basic authentication); "
        + "switch the server to digest authentication, or use https://")
  }

  private func report(_ diagnostic: String) {
    guard count.diagnostics.count < TransportCounters.maximumDiagnostics,
      !count.diagnostics.contains(diagnostic)
    else { return }
    count.diagnostics.append(diagnostic)
  }

  private func finish(_ outcome: HTTPTransferEnd.Outcome) {
    switch outcome {
    case .redirected(let location): follow(location)
    case .failed(HTTPError.credentialsMissing) where credentials != nil:
      end(.failed(HTTPError.credentialsNotForwarded(to: transfer?.request.url.description ?? "")))
    case .failed(let error): end(.failed(error))
    case .complete where packets.isInsidePacket: end(.failed(HTTPError.endedInPacket))
    case .complete where count.delivered == 0: end(.failed(HTTPError.empty))
    case .complete: end(.ended)
    }
  }

  private func follow(_ location: String) {
    guard let url = transfer?.request.url else { return }
    do throws(Redirections.Fault) {
      let target = try redirections.follow(location, from: url)
      report("redirected to \(RTSPError.withoutUser(location))")
      connect(to: target)
    } catch {
      switch error {
      case .refused: end(.failed(HTTPError.redirectRefused(to: location)))
      case .tooOften(let limit): end(.failed(HTTPError.redirectedTooOften(limit: limit)))
      }
    }
  }

  /// Tells of the end, once, and lets nothing come after it.
  private func end(_ end: TransportEnd) {
    guard let sink else { return }
    self.sink = nil
    timer?.cancel()
    timer = nil
    waiting.removeAll()
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

  /// Delivers the packets of what has come, as long as they are wanted.
  private func takeApart() {
    while sink != nil, !isHeld {
      do throws(FramedPackets.ImpossibleLength) {
        while !isHeld, sink != nil, let packet = try packets.next() { deliver(packet) }
      } catch {
        return lose(error)
      }
      guard !isHeld, sink != nil else { return }
      if underway > 0 {
        sink?.readCompleted(at: arrival)
        if let transfer, transfer.workedOff(underway) { HTTPTransfers.shared.resume(transfer) }
        underway = 0
      }
      guard let portion = waiting.popFirst() else { break }
      packets.append(portion.bytes)
      underway = portion.bytes.readableBytes
      arrival = portion.arrival
    }
    guard sink != nil, !isHeld, let outcome = pendingEnd else { return }
    pendingEnd = nil
    finish(outcome)
  }

  private func deliver(_ packet: ByteBuffer) {
    // RFC 3550 §5.1: version 2 in the first two bits, of RTP and RTCP alike.
    let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self) ?? 0
    if count.delivered == 0, packet.readableBytes >= Self.leastTelling, first >> 6 != 2 {
      return end(.failed(HTTPError.notPackets))
    }
    count.delivered += 1
    count.deliveredBytes += UInt64(packet.readableBytes)
    lastPacket = arrival
    sink?.receive(Datagram(bytes: packet, arrival: arrival))
  }

  private func lose(_ error: FramedPackets.ImpossibleLength) {
    guard count.delivered == 0 else {
      return end(.failed(HTTPError.framingLost(length: error.length, limit: error.limit)))
    }
    // A web page whose type is not said, or not believed: ‘<!DO’, ‘<htm’.
    let isPage = error.length >> 24 == Int(UInt8(ascii: "<"))
    end(.failed(isPage ? HTTPError.webPage : HTTPError.notPackets))
  }

  // MARK: - Time

  private func enter(_ phase: Phase) {
    self.phase = phase
    since = Self.now
    watch()
  }

  /// What fails if nothing more happens, and when; libcurl itself watches over connecting.
  private var deadline: (at: Instant, error: HTTPError)? {
    switch phase {
    case .connecting: return nil
    case .answer:
      let seconds = Int(Self.answerTime.components.seconds)
      return (since.advanced(by: Self.answerTime), .noResponse(seconds: seconds))
    case .media:
      guard let silence = configuration.silence, !isHeld else { return nil }
      let seconds = Int(silence.components.seconds)
      let start = max(lastPacket ?? since, since)
      return (
        start.advanced(by: silence),
        lastPacket == nil ? .noMedia(seconds: seconds) : .mediaStopped(seconds: seconds)
      )
    }
  }

  /// Looks again when the deadline of now is over; packets move it, and no timer with it.
  private func watch() {
    timer?.cancel()
    timer = nil
    guard sink != nil, let deadline else { return }
    let now = Self.now
    guard deadline.at > now else { return end(.failed(deadline.error)) }
    timer = eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(now.nanoseconds(to: deadline.at))
    ) { self.watch() }
  }

  private static var now: Instant { Instant(NIODeadline.now()) }
}
