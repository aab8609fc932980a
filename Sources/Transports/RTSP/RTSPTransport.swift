public import NIOCore

/// RTP from an RTSP server (RFC 2326): in its connection, over UDP or multicast, encrypted or not.
///
/// ``open(delivering:)`` returns when the server plays, or when the first packet is there, whichever
/// comes first.
public final class RTSPTransport: RTPTransport {
  public let eventLoop: any EventLoop
  let url: ServerURL
  let credentials: Credentials?
  private let configuration: RTSPConfiguration
  private let sockets: UDPTransport.SocketConfiguration
  let state: NIOLoopBoundBox<State>

  enum State {
    case idle
    case started(RTSPStream)
    case closed
  }

  /// Opens nothing yet; a user name in the URL comes before the one configured, and so does a
  /// password.
  ///
  /// - Throws: ``TransportError/source(_:_:)`` when `source` is not the URL of a stream.
  public init(
    source: String, configuration: RTSPConfiguration = RTSPConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) throws(TransportError) {
    do throws(SourceFault) {
      var named: Credentials?
      (url, named) = try ServerURL.parse(source)
      if named?.password.isEmpty == true, let configured = configuration.credentials {
        named?.password = configured.password
      }
      credentials = named ?? configuration.credentials
    } catch { throw .source(source, error) }
    self.configuration = configuration
    self.sockets = sockets
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(.idle, eventLoop: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// A server is asked to play, so its silence is a fault.
  public var isPassive: Bool { false }

  /// As ``RTSPConfiguration/silence`` has it.
  public var longestSilence: Duration? { configuration.silence }

  /// Dahua and FLIR cameras end a session without them.
  public var takesReports: Bool { true }

  /// - Throws: ``RTSPError``, ``TLSError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await start(.play, delivering: sink).get()
  }

  /// What the server describes at the address of `source`, without playing any of it.
  ///
  /// - Throws: as ``open(delivering:)`` does.
  public static func describe(
    source: String, configuration: RTSPConfiguration = RTSPConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) async throws -> SessionDescription {
    let transport = try RTSPTransport(
      source: source, configuration: configuration, sockets: sockets, on: eventLoop)
    try await transport.start(.describe, delivering: nil).get()
    let description = try await eventLoop.submit {
      [state = transport.state] () -> SessionDescription? in
      if case .started(let stream) = state.value { stream.description } else { nil }
    }.get()
    guard let description else { throw RTSPError.emptyDescription }
    return description
  }

  /// Halts the stream (RFC 2326 §10.6); servers of live streams often can not.
  public func pause() { withStream { $0.pause() } }

  /// Lets a halted stream go on.
  public func resume() { withStream { $0.resume() } }

  public func sendFeedback(_ bytes: ByteBuffer) { withStream { $0.sendFeedback(bytes) } }

  /// Only media in the connection itself can wait.
  public func holdReading(_ isHeld: Bool) { withStream { $0.holdReading(isHeld) } }

  public func counters() async -> TransportCounters {
    let counters = try? await eventLoop.submit { [state] in
      if case .started(let stream) = state.value { stream.counters } else { TransportCounters() }
    }.get()
    return counters ?? TransportCounters()
  }

  /// Ends the transport; the server is told behind that, and given a second to answer.
  public func close() {
    onLoop { state in
      switch state.value {
      case .idle: state.value = .closed
      case .started(let stream): stream.close()
      case .closed: break
      }
    }
  }

  private func start(
    _ purpose: RTSPSession.Purpose, delivering sink: (any DatagramSink)?
  ) -> EventLoopFuture<Void> {
    eventLoop.flatSubmit { [state, eventLoop, url, credentials, configuration, sockets] in
      switch state.value {
      case .idle: break
      case .started: return eventLoop.makeFailedFuture(TransportError.alreadyOpened)
      case .closed: return eventLoop.makeFailedFuture(TransportError.closed)
      }
      let stream = RTSPStream(
        url, credentials: credentials, configuration: configuration,
        sockets: sockets, purpose: purpose, on: eventLoop, delivering: sink)
      state.value = .started(stream)
      return stream.start()
    }
  }

  private func withStream(_ body: @escaping @Sendable (RTSPStream) -> Void) {
    onLoop { state in
      if case .started(let stream) = state.value { body(stream) }
    }
  }

  private func onLoop(_ body: @escaping @Sendable (NIOLoopBoundBox<State>) -> Void) {
    if eventLoop.inEventLoop { return body(state) }
    eventLoop.execute { [state] in body(state) }
  }
}

extension TransportKind {
  /// `rtsp://` and `rtsps://`.
  static let rtsp = TransportKind(
    name: "rtsp", schemes: ["rtsp", "rtsps"],
    make: { source, options, eventLoop throws(TransportError) in
      // ‘--transport rtsp host/path’ names no scheme.
      let url = SourceAddress.scheme(of: source) == nil ? "rtsp://" + source : source
      return try RTSPTransport(
        source: url, configuration: options.rtsp, sockets: options.sockets, on: eventLoop)
    },
    describe: { source, options, eventLoop in
      try await RTSPTransport.describe(
        source: source, configuration: options.rtsp, sockets: options.sockets, on: eventLoop)
    })
}
