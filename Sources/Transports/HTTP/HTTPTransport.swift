public import NIOCore

/// RTP from an HTTP server: a body without end, in which each packet stands behind its length in four
/// bytes, in network byte order.
///
/// ``open(delivering:)`` returns when the server has answered. All transfers of a process run on one
/// thread of libcurl's; what comes is delivered on ``eventLoop``.
public final class HTTPTransport: RTPTransport {
  public let eventLoop: any EventLoop
  let url: ServerURL
  private let credentials: Credentials?
  private let configuration: HTTPConfiguration
  private let state: NIOLoopBoundBox<State>

  private enum State {
    case idle
    case started(HTTPStream)
    case closed
  }

  /// Opens nothing yet; a user name in the URL comes before the one configured, and so does a
  /// password.
  ///
  /// - Throws: ``TransportError/source(_:_:)`` when `source` is not the URL of a stream.
  public init(
    source: String, configuration: HTTPConfiguration = HTTPConfiguration(),
    on eventLoop: any EventLoop
  ) throws(TransportError) {
    do throws(SourceFault) {
      var named: Credentials?
      (url, named) = try ServerURL.parse(source, as: .http)
      if named?.password.isEmpty == true, let configured = configuration.credentials {
        named?.password = configured.password
      }
      credentials = named ?? configuration.credentials
    } catch { throw .source(source, error) }
    self.configuration = configuration
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(.idle, eventLoop: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// A server is asked to send, so its silence is a fault.
  public var isPassive: Bool { false }

  /// As ``HTTPConfiguration/silence`` has it.
  public var longestSilence: Duration? { configuration.silence }

  /// A response has no way back.
  public var takesReports: Bool { false }

  /// - Throws: ``HTTPError``, ``TLSError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.flatSubmit { [state, eventLoop, url, credentials, configuration] in
      switch state.value {
      case .idle: break
      case .started: return eventLoop.makeFailedFuture(TransportError.alreadyOpened)
      case .closed: return eventLoop.makeFailedFuture(TransportError.closed)
      }
      let stream = HTTPStream(
        url, credentials: credentials, configuration: configuration, on: eventLoop,
        delivering: sink)
      state.value = .started(stream)
      return stream.start()
    }.get() as Void
  }

  public func sendFeedback(_ bytes: ByteBuffer) {}

  public func holdReading(_ isHeld: Bool) {
    onLoop { state in
      if case .started(let stream) = state.value { stream.holdReading(isHeld) }
    }
  }

  public func counters() async -> TransportCounters {
    let counters = try? await eventLoop.submit { [state] in
      if case .started(let stream) = state.value { stream.counters } else { TransportCounters() }
    }.get()
    return counters ?? TransportCounters()
  }

  public func close() {
    onLoop { state in
      switch state.value {
      case .idle: state.value = .closed
      case .started(let stream): stream.close()
      case .closed: break
      }
    }
  }

  private func onLoop(_ body: @escaping @Sendable (NIOLoopBoundBox<State>) -> Void) {
    if eventLoop.inEventLoop { return body(state) }
    eventLoop.execute { [state] in body(state) }
  }
}

extension TransportKind {
  /// `http://` and `https://`.
  static let http = TransportKind(name: "http", schemes: ["http", "https"]) {
    source, options, eventLoop throws(TransportError) in
    // ‘--transport http host:port’ names no scheme.
    let url = SourceAddress.scheme(of: source) == nil ? "http://" + source : source
    return try HTTPTransport(source: url, configuration: options.http, on: eventLoop)
  }
}
