internal import Glibc
public import NIOCore
public import RTPWire

/// Length-prefixed RTP packets over a TCP connection (RFC 4571), or from a pipe.
public final class FramedTransport: RTPTransport {
  /// Where the packets come from.
  public enum Source: Sendable, Hashable {
    /// A server that sends as soon as a client connects.
    case server(host: String, port: Int)
    /// The reading end of a pipe, or a socket, such as standard input; its owner keeps it.
    case pipe(CInt)
    /// The path of a named pipe, or of an open one such as `/dev/fd/63`.
    case pipeAt(String)
  }

  public var eventLoop: any EventLoop { receiver.eventLoop }
  let source: Source
  private let framing: PacketFraming?
  private let recordings: ReplayConfiguration
  private let silence: Duration?
  private let sockets: UDPTransport.SocketConfiguration
  private let receiver: ReceiverSlot<FramedReceiver>

  /// Makes a transport without opening anything.
  ///
  /// - Parameters:
  ///   - source: where the packets come from.
  ///   - framing: how packets are framed; `nil` for the usual way: RFC 4571 from a server, 4-byte
  ///     lengths in a pipe, which may also bring a capture.
  ///   - silence: how long a server may be silent; `nil` waits forever.
  ///   - recordings: how a capture is played.
  ///   - sockets: options of the socket to a server.
  ///   - eventLoop: the loop on which the sink is called.
  public init(
    source: Source, framing: PacketFraming? = nil, silence: Duration? = .seconds(5),
    recordings: ReplayConfiguration = ReplayConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) {
    self.source = source
    self.framing = framing
    self.recordings = recordings
    self.silence = if case .server = source { silence } else { nil }
    self.sockets = sockets
    receiver = ReceiverSlot(on: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// The writer of a pipe may begin at any time.
  public var isPassive: Bool { if case .server = source { false } else { true } }

  /// An open pipe ends once; a named one can be opened again.
  public var comesAgain: Bool { if case .pipe = source { false } else { true } }

  public var longestSilence: Duration? { silence }

  /// The far end may not read anything.
  public var takesReports: Bool { false }

  /// - Throws: ``FramedError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await receiver.open(
      { [source, framing, recordings, silence, eventLoop] in
        let contents =
          switch (framing, source) {
          case (let framing?, _): StreamContents(framing)
          case (nil, .server): StreamContents(.rfc4571)
          case (nil, _): StreamContents(pipedFramed: .rtp4, recordings: recordings)
          }
        return FramedReceiver(contents, silence: silence, on: eventLoop, delivering: sink)
      },
      begin: { [source, sockets, eventLoop] receiver in
        switch source {
        case .server(let host, let port):
          receiver.connect(
            TCPConnector(host: host, port: port, sockets: sockets, eventLoop: eventLoop))
        case .pipe(let descriptor): receiver.read(from: descriptor)
        case .pipeAt(let path): receiver.read(fromPipeAt: path)
        }
      }
    ).get()
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {}

  public func holdReading(_ isHeld: Bool) { receiver.holdReading(isHeld) }

  public func counters() async -> TransportCounters { await receiver.counters() }

  public func close() { receiver.close() }
}

extension TransportKind {
  /// `tcp://host:port`, `-` and named pipes.
  public static let framed: TransportKind = {
    var kind = TransportKind(
      name: "tcp", schemes: ["tcp"], make: makeFramed,
      describe: { source, options, eventLoop in
        guard isRecording(source) || isPipe(source) else {
          throw TransportError.source(source, .nothingDescribed)
        }
        return try await listing(ofRecording: source == "-" ? standardInput : source, options)
      })
    kind.arguments = ["-"]
    kind.usage = [
      SourceForm("tcp://HOST:PORT", "length-prefixed packets, as in RFC 4571"),
      SourceForm(
        "-", "packets after 4-byte lengths on standard input,\nor a capture as it is taken"),
    ]
    kind.hints = TransportHint.ofConnections(kind.schemes)
    kind.recognizes = { file, _ in file.kind == .pipe }
    kind.scopes = [
      OptionScope("recordings", options: DeclaredOption.ofRecordings) { isRecording($0) },
      OptionScope(
        "pipes", options: DeclaredOption.ofFlows + DeclaredOption.ofFraming,
        toolOptions: ["--timeout"]
      ) { isPipe($0) },
      OptionScope(
        "tcp://", options: DeclaredOption.ofFraming + DeclaredOption.ofConnections,
        toolOptions: ["--timeout"]),
    ]
    return kind
  }()

  @Sendable private static func makeFramed(
    _ source: String, _ options: TransportOptions, _ eventLoop: any EventLoop
  ) throws(TransportError) -> any RTPTransport {
    if isRecording(source) {
      // 'rtp-recv - < FILE': a file is a recording with its own times, not a live stream.
      return ReplayTransport(
        path: standardInput, configuration: options.recordings, on: eventLoop)
    }
    if isPipe(source) {
      return FramedTransport(
        source: source == "-" ? .pipe(STDIN_FILENO) : .pipeAt(source),
        framing: options.framed.framing, recordings: options.recordings, on: eventLoop)
    }
    let address = try SourceAddress(parsing: source)
    guard address.source == nil else { throw .source(source, .sourceWithoutGroup) }
    guard let host = address.host else { throw .source(source, .missingHost) }
    guard address.port > 0 else { throw .source(source, .invalidPort("0")) }
    return FramedTransport(
      source: .server(host: host, port: address.port), framing: options.framed.framing,
      silence: options.silence.duration(standard: options.framed.silence), sockets: options.sockets,
      on: eventLoop)
  }

  private static func isRecording(_ source: String) -> Bool {
    source == "-" && SourceFile(standardInput).kind == .regular
  }

  private static func isPipe(_ source: String) -> Bool {
    source == "-" || SourceFile(source).kind == .pipe
  }

  private static let standardInput = "/dev/stdin"
}
