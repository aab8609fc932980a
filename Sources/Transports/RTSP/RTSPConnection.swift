import BlockingIO
internal import Glibc
internal import NIOCore
internal import NIOTLS
internal import RTPWire

/// A connection to an RTSP server, from resolving its name to its end: bytes in, elements out.
///
/// Everything happens on the event loop. The owner is told of the end once, unless it called
/// ``close()`` before.
final class RTSPConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  /// What the owner is told; all are called on the event loop.
  struct Owner {
    /// Where it leads is known, and no request has left by it; the owner may close it.
    var reached: (SocketAddress?) -> Void
    var opened: (Instant) -> Void
    var element: (consuming RTSPElement, Instant) -> Void
    /// All elements of a read have been reported.
    var readCompleted: (Instant) -> Void
    /// The bytes cannot be understood; only the end is reported after this.
    var inputFailed: (RTSPError, Instant) -> Void
    /// The connection could not be opened.
    var failed: (any Error, Instant) -> Void
    /// The connection has closed, with the reason if there is one.
    var closed: ((any Error)?, Instant) -> Void
  }

  /// The channels on which frames are expected.
  var assignedChannels: [UInt8] {
    get { input.assignedChannels }
    set { input.assignedChannels = newValue }
  }

  /// How many bytes were skipped because they belong to no element.
  var skipped: UInt64 { input.skipped }

  private let url: ServerURL
  private let connector: TCPConnector
  private let requests: HTTPTunnelRequests?
  private var tunnel: HTTPTunnel?
  private var owner: Owner?
  private var input = RTSPInput()
  private var phase: Phase
  private var lastError: (any Error)?
  private var arrival = Instant(nanoseconds: 0)
  private var hasRead = false
  private var hasFailed = false
  private var stall: Scheduled<Void>?
  /// Whether the server is made to wait; meanwhile nothing is reported, not even the end.
  private var isHeld = false
  private var hasEndedMeanwhile = false
  /// What a read has brought.
  private var bytesOfRead = 0
  /// Set while bytes gather in the kernel.
  private var mark: GatheringMark?
  private var markTimer: Scheduled<Void>?

  private enum Phase {
    case connecting(TCPConnector.Attempts)
    case handshaking(any Channel)
    /// The tunnel has been asked for.
    case tunnelling(any Channel)
    case open(any Channel)
    case closed
  }

  init(
    _ url: ServerURL, _ connector: TCPConnector, through requests: HTTPTunnelRequests?,
    for owner: Owner
  ) {
    self.url = url
    self.connector = connector
    self.requests = requests
    self.owner = owner
    phase = .connecting(TCPConnector.Attempts())
  }

  // MARK: Opening

  /// Connects, with a TLS handshake if the URL asks for it, and opens the tunnel.
  func open(_ configuration: TLSConfiguration) {
    guard case .connecting(let attempts) = phase else { return }
    let eventLoop = connector.eventLoop
    let tls: EventLoopFuture<TLSContext?> =
      url.isSecure
      ? TLSContext.make(configuration, on: eventLoop).map { $0 }
      : eventLoop.makeSucceededFuture(nil)
    let bound = NIOLoopBound(attempts, eventLoop: eventLoop)
    tls.flatMap { [url, connector] tls in
      connector.connect(bound.value) { channel in
        guard let tls else { return }
        try channel.pipeline.syncOperations.addHandler(TLSLayer(tls, host: url.host))
      }.map { ($0, tls) }
    }.assumeIsolated().whenComplete { result in
      switch result {
      case .success((let channel, let tls)): self.connected(channel, tls)
      case .failure(let error): self.end(error)
      }
    }
  }

  private func connected(_ channel: any Channel, _ tls: TLSContext?) {
    if case .connecting = phase { owner?.reached(channel.remoteAddress) }
    // The owner may have closed it, before or just now.
    guard case .connecting = phase, owner != nil else { return channel.close(promise: nil) }
    do {
      let pipeline = channel.pipeline.syncOperations
      if let requests {
        // A name may stand for several machines, of which only one knows the first request.
        let tunnel = HTTPTunnel(
          requests, connector.toward(channel.remoteAddress),
          tls.map { HTTPTunnelUpload.Secrecy(context: $0, host: url.host) })
        self.tunnel = tunnel
        try pipeline.addHandler(tunnel)
      }
      try pipeline.addHandler(self)
    } catch { return end(error) }
    if url.isSecure { phase = .handshaking(channel) } else { encrypted(channel) }
    // Reading starts only here, so no bytes were missed.
    channel.setOption(.autoRead, value: true).assumeIsolated().whenFailure { self.end($0) }
  }

  /// What encrypts the connection, if anything, has done its part.
  private func encrypted(_ channel: any Channel) {
    if tunnel == nil { opened(channel) } else { phase = .tunnelling(channel) }
  }

  private func opened(_ channel: any Channel) {
    phase = .open(channel)
    owner?.opened(Instant.now)
  }

  /// The error for an opening that took too long, `seconds` in all, by the stage it has reached.
  func delay(seconds: Int) -> (any Error)? {
    switch phase {
    case .connecting(let attempts) where attempts.phase == .resolving:
      return TransportError.nameResolutionTimedOut(host: url.host, seconds: seconds)
    case .handshaking: return TLSError.handshakeTimedOut(seconds: seconds)
    case .tunnelling: return RTSPError.noResponse(method: "GET", seconds: seconds)
    case .connecting, .open, .closed: return nil
    }
  }

  /// The addresses of both ends, while it is open.
  var addresses: (local: SocketAddress, remote: SocketAddress)? {
    guard case .open(let channel) = phase, let local = channel.localAddress,
      let remote = channel.remoteAddress
    else { return nil }
    return (local, remote)
  }

  // MARK: Writing

  func send(_ request: RTSPRequest) { write(request.encoded()) }

  /// Answers a request of the server, unless the server does not read earlier answers.
  func send(_ response: RTSPResponse) {
    guard isWritable else { return }
    write(response.encoded())
  }

  /// Sends RTCP as an interleaved frame (RFC 2326 §10.12); drops it if the server does not read.
  func send(_ bytes: ByteBuffer, onChannel channel: UInt8) {
    guard isWritable, let length = UInt16(exactly: bytes.readableBytes) else { return }
    var frame = ByteBuffer()
    frame.reserveCapacity(4 + bytes.readableBytes)
    frame.writeMultipleIntegers(UInt8(ascii: "$"), channel, length)
    frame.writeImmutableBuffer(bytes)
    write(frame)
  }

  private var isWritable: Bool {
    if case .open(let channel) = phase { tunnel?.isWritable ?? channel.isWritable } else { false }
  }

  private func write(_ bytes: ByteBuffer) {
    guard case .open(let channel) = phase else { return }
    channel.writeAndFlush(bytes, promise: nil)
  }

  /// Closes the connection once everything written has been sent, after ``closeDeadline`` at the
  /// latest; reports nothing more.
  func close() {
    owner = nil
    stall?.cancel()
    markTimer?.cancel()
    let channel: any Channel
    switch phase {
    case .connecting(let attempts):
      attempts.abandon()
      phase = .closed
      return
    case .closed: return
    case .handshaking(let unready), .tunnelling(let unready):
      channel = unready
      channel.close(promise: nil)
    case .open(let open):
      channel = open
      // The promise of an empty write succeeds once everything before it has been sent.
      let timeout = connector.eventLoop.assumeIsolated().scheduleTask(in: Self.closeDeadline) {
        channel.close(promise: nil)
      }
      channel.writeAndFlush(ByteBuffer()).assumeIsolated().whenComplete { _ in
        timeout.cancel()
        channel.close(promise: nil)
      }
    }
    phase = .closed
  }

  // MARK: Reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let take = owner?.element, !hasFailed else { return }
    arrival = Instant.now
    hasRead = true
    let bytes = unwrapInboundIn(data)
    bytesOfRead += bytes.readableBytes
    input.append(bytes)
    tell(take)
  }

  /// Reports the elements that are whole; returns whether there was any.
  @discardableResult
  private func tell(_ take: (consuming RTSPElement, Instant) -> Void) -> Bool {
    var hasTold = false
    do throws(RTSPError) {
      // The owner may close or hold the connection at any element.
      while owner != nil, !isHeld, let element = try input.next(at: arrival) {
        hasTold = true
        take(consume element, arrival)
      }
    } catch {
      fail(error, at: arrival)
    }
    watch()
    return hasTold
  }

  /// Starts a timer that limits the wait for the rest of an element.
  ///
  /// Nearly every read ends inside a frame, so the timer is not moved with each read. When it fires
  /// early, it only checks again.
  private func watch() {
    guard stall == nil, !hasFailed, !isHeld, owner != nil, let deadline = input.deadline else {
      return
    }
    let delay = max(arrival.nanoseconds(to: deadline), 0)
    stall = connector.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.stall = nil
      guard !self.isHeld, !self.hasFailed, let take = self.owner?.element else { return }
      self.arrival = Instant.now
      // No bytes came, but elements may have waited behind what is no frame after all.
      if self.tell(take) { self.owner?.readCompleted(self.arrival) }
    }
  }

  private func fail(_ error: RTSPError, at now: Instant) {
    guard !hasFailed else { return }
    hasFailed = true
    owner?.inputFailed(error, now)
  }

  /// While `isHeld`, does not read, so that the server has to wait, and reports nothing.
  func holdReading(_ isHeld: Bool) {
    guard case .open(let channel) = phase, isHeld != self.isHeld else { return }
    self.isHeld = isHeld
    if !isHeld, let owner, !hasFailed {
      arrival = Instant.now
      input.excuseSilence(until: arrival)
      tell(owner.element)
      // The owner may hold the connection again in this call-back.
      self.owner?.readCompleted(arrival)
      guard !self.isHeld else { return }
      if hasEndedMeanwhile { return end(lastError) }
    }
    // This fails once the server has closed the connection; what it sent before is still delivered.
    _ = channel.setOption(.autoRead, value: !isHeld)
  }

  /// From now on has the kernel tell of bytes once as many wait as come in somewhat less than
  /// `time`, and no later than that; at once if it is zero.
  func gather(for time: Duration) {
    guard case .open = phase, (mark == nil) == (time > .zero) else { return }
    guard time > .zero else {
      markTimer?.cancel()
      mark = GatheringMark(for: .zero, at: Instant.now)
      // The kernel tells at once of what has gathered.
      setMark()
      mark = nil
      return
    }
    mark = GatheringMark(for: time / GatheringMark.patience, at: Instant.now)
  }

  private func setMark() {
    guard case .open(let channel) = phase, let mark else { return }
    _ = channel.setOption(
      .socketOption(.init(rawValue: SO_RCVLOWAT)), value: SocketOptionValue(mark.value))
  }

  /// Starts the timer for the mark's deadline anew: where bytes gather, reads are rare.
  private func watchMark() {
    markTimer?.cancel()
    markTimer = nil
    guard let deadline = mark?.deadline else { return }
    let delay = max(Instant.now.nanoseconds(to: deadline), 0)
    markTimer = connector.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      if self.mark?.timePassed(to: Instant.now) == true { self.setMark() }
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // A completed read may have brought nothing but a part of a TLS record.
    guard hasRead else { return }
    hasRead = false
    owner?.readCompleted(arrival)
    if mark != nil {
      if mark?.noteRead(of: bytesOfRead, at: arrival) == true { setMark() }
      watchMark()
    }
    bytesOfRead = 0
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshaking(let channel) = phase, case .handshakeCompleted? = event as? TLSUserEvent {
      encrypted(channel)
    }
    if case .tunnelling(let channel) = phase, event is HTTPTunnel.Opened { opened(channel) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Some servers reset a connection in TLS whose beginning they do not understand.
    if url.isSecure, error is IOError { return }
    lastError = lastError ?? error
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .handshaking = phase { lastError = lastError ?? TLSError.closedInHandshake }
    // When the server has closed the connection, SwiftNIO reads to the end even while held.
    if isHeld { hasEndedMeanwhile = true } else { end(lastError) }
  }

  private func end(_ error: (any Error)?) {
    guard let owner else { return }
    self.owner = nil
    stall?.cancel()
    markTimer?.cancel()
    let wasOpen = if case .open = phase { true } else { false }
    phase = .closed
    if wasOpen, !hasFailed, let fault = input.faultAtEnd {
      owner.inputFailed(fault, Instant.now)
    } else if wasOpen {
      owner.closed(error, Instant.now)
    } else {
      owner.failed(error ?? RTSPError.connectionClosed, Instant.now)
    }
  }

  /// The longest that a server that does not read may keep the descriptor.
  private static let closeDeadline = TimeAmount.seconds(1)
}
