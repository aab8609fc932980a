public import NIOCore
public import RTPWire

/// RTP in UDP datagrams: requested from a server by a hello, or received on a port.
///
/// The source of the media is determined once and then kept; nothing else is delivered.
/// Arrival times are those of SwiftNIO's clock, which is read once for each read of the socket.
public final class UDPTransport: RTPTransport {
  /// Who speaks first.
  public enum Role: Sendable, Hashable {
    /// Says hello to a server, from the port it then receives on.
    case client(host: String, port: Int, HelloConfiguration = HelloConfiguration())
    /// Receives what is sent to a port, unicast or multicast.
    case listener(Listening)
    /// Receives on several ports, one track each; all but the `required` one may be in use.
    case listeners([Listening], required: Int)
  }

  /// A client's messages to its server.
  public struct HelloConfiguration: TransportOption, Hashable {
    /// Opens the way and starts the stream; at most 64 bytes.
    public var hello = ByteBuffer(string: "Hello")
    /// Tells the server that the client is still there; at most 64 bytes.
    public var heartbeat = ByteBuffer(string: "Hello")
    /// The time between heartbeats, at least one second.
    public var interval = Duration.seconds(3)

    public init() {}
  }

  /// Where a listener listens.
  public struct Listening: Sendable, Hashable {
    /// An address of this machine, a multicast group, or `nil` for every address.
    public var host: String?
    /// 1 … 65535, or 0 for one that the kernel chooses.
    public var port: Int
    /// Who may send, as in a source-specific group (RFC 4607); `nil` for everyone.
    public var senders: SenderFilter?
    /// The RTCP port; `nil` means the next port, ``port`` means the same port.
    public var controlPort: Int?
    /// Whether SMPTE ST 2022-1 correction packets come to the ports two (columns) and four (rows)
    /// above.
    public var takesCorrection = false
    /// The port for retransmissions in a separate session (RFC 4588 §5.3), if any.
    public var retransmissionPort: Int?
    /// Whether to listen on every address if ``host`` does not belong to this machine, as in a
    /// session description that passed through a NAT.
    public var fallsBackToAnyAddress = false

    public init(host: String? = nil, port: Int, source: String? = nil) {
      self.host = host
      self.port = port
      senders = source.map { .only([$0]) }
    }
  }

  /// Socket settings, the same for both roles.
  public struct SocketConfiguration: TransportOption, Hashable {
    /// The local address and port to use instead of the role's.
    public var bind: LocalAddress?
    /// The name of the network interface to receive on.
    public var interface: String?
    /// The receive buffer to request, in bytes.
    public var receiveBuffer = 4 << 20

    public init() {}
  }

  public struct LocalAddress: Sendable, Hashable {
    /// An address of this machine, or `nil` for every address.
    public var host: String?
    /// 0 … 65535; 0 lets the kernel choose.
    public var port: Int

    public init(host: String?, port: Int) {
      self.host = host
      self.port = port
    }
  }

  public let eventLoop: any EventLoop
  let role: Role
  private let sockets: SocketConfiguration
  private let descriptions: [MediaDescription]
  private let leavesSoundOut: Bool
  private let state: NIOLoopBoundBox<State>

  private enum State {
    case idle
    case opening
    case open(UDPTracks)
    case ended(TransportCounters)
  }

  /// Opens nothing yet; `descriptions`, such as those of an SDP file, go to the sink before any
  /// packet, and `leavesSoundOut` says that the file has sound which is not among them.
  public init(
    role: Role, sockets: SocketConfiguration = SocketConfiguration(),
    descriptions: [MediaDescription] = [], leavesSoundOut: Bool = false,
    on eventLoop: any EventLoop
  ) {
    self.role = role
    self.sockets = sockets
    self.descriptions = descriptions
    self.leavesSoundOut = leavesSoundOut
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(.idle, eventLoop: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// A client asks for its stream; a listener takes what comes.
  public var isPassive: Bool { if case .client = role { false } else { true } }

  public var longestSilence: Duration? { nil }

  /// Nothing indicates that the far end speaks RTCP.
  public var takesReports: Bool { false }

  /// - Throws: ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.submit { [state] in
      switch state.value {
      case .idle: state.value = .opening
      case .ended: throw TransportError.closed
      case .opening, .open: throw TransportError.alreadyOpened
      }
    }.get()
    do {
      let (plans, required) = try await plans()
      try await eventLoop.flatSubmit { [state, eventLoop, descriptions] in
        eventLoop.makeCompletedFuture {
          guard case .opening = state.value else { throw TransportError.closed }
          let tracks = try UDPTracks(
            plans, required: required, on: eventLoop, delivering: sink)
          state.value = .open(tracks)
          if !descriptions.isEmpty { sink.describe(descriptions) }
          return NIOLoopBound(tracks, eventLoop: eventLoop)
        }.flatMap { (tracks: NIOLoopBound<UDPTracks>) in tracks.value.start() }
      }.get()
    } catch {
      // The caller of `open` gets the error, so the sink does not.
      onLoop { state in
        if case .open(let tracks) = state.value { tracks.stop() }
        if case .ended = state.value { return }
        state.value = .ended(TransportCounters())
      }
      throw error
    }
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    onLoop { state in
      guard case .open(let tracks) = state.value else { return }
      tracks.sendFeedback(bytes, track: track)
    }
  }

  /// Senders of datagrams cannot be held.
  public func holdReading(_ isHeld: Bool) {}

  public var canGather: Bool { true }

  public func gather(for time: Duration) {
    onLoop { state in
      if case .open(let tracks) = state.value { tracks.gather(for: time) }
    }
  }

  public func counters() async -> TransportCounters {
    let counters = try? await eventLoop.submit { [state] () -> TransportCounters in
      switch state.value {
      case .open(let tracks): return tracks.counters
      case .ended(let counters): return counters
      case .idle, .opening: return TransportCounters()
      }
    }.get()
    var known = counters ?? TransportCounters()
    known.leavesSoundOut = leavesSoundOut
    return known
  }

  public func close() {
    onLoop { state in
      switch state.value {
      case .open(let tracks):
        tracks.end(.closed)
        state.value = .ended(tracks.counters)
      case .idle, .opening:
        state.value = .ended(TransportCounters())
      case .ended: break
      }
    }
  }

  /// How each track is received, and which one is required.
  private func plans() async throws -> (plans: [UDPPlan], required: Int) {
    guard case .listeners(let all, let required) = role else {
      return ([try await UDPPlan(role: role, sockets: sockets, on: eventLoop)], 0)
    }
    guard all.indices.contains(required) else { throw TransportError.nothingToReceive }
    var plans: [UDPPlan] = []
    for listening in all {
      var sockets = sockets
      // The ports keep their distances from the description.
      if let port = sockets.bind?.port, port > 0 {
        sockets.bind?.port = port + listening.port - all[required].port
      }
      plans.append(
        try await UDPPlan(role: .listener(listening), sockets: sockets, on: eventLoop))
    }
    return (plans, required)
  }

  private func onLoop(_ body: @escaping @Sendable (NIOLoopBoundBox<State>) -> Void) {
    if eventLoop.inEventLoop { return body(state) }
    eventLoop.execute { [state] in body(state) }
  }
}

extension TransportOptions {
  /// Socket settings of any transport.
  public var sockets: UDPTransport.SocketConfiguration {
    get { self[UDPTransport.SocketConfiguration.self] }
    set { self[UDPTransport.SocketConfiguration.self] = newValue }
  }
}

extension TransportOptions {
  /// The messages to a server.
  public var hello: UDPTransport.HelloConfiguration {
    get { self[UDPTransport.HelloConfiguration.self] }
    set { self[UDPTransport.HelloConfiguration.self] = newValue }
  }
}
