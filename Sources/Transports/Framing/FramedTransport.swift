internal import Glibc
public import NIOCore

/// RTP packets behind their lengths in a TCP connection (RFC 4571), or in a pipe.
public final class FramedTransport: RTPTransport {
  /// Where the packets come from.
  public enum Source: Sendable, Hashable {
    /// A server that sends as soon as it is connected to.
    case server(host: String, port: Int)
    /// The reading end of a pipe, or a socket, such as standard input; it stays its owner's.
    case pipe(CInt)
  }

  public var eventLoop: any EventLoop { stream.eventLoop }
  let source: Source
  private let framing: PacketFraming
  private let silence: Duration?
  private let sockets: UDPTransport.SocketConfiguration
  private let stream: StreamSlot<FramedStream>

  /// Opens nothing yet; `silence` is how long a server may send nothing, for ever when `nil`.
  public init(
    source: Source, framing: PacketFraming, silence: Duration? = .seconds(5),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) {
    self.source = source
    self.framing = framing
    self.silence = if case .pipe = source { nil } else { silence }
    self.sockets = sockets
    stream = StreamSlot(on: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// Who writes into a pipe begins when it likes.
  public var isPassive: Bool { if case .pipe = source { true } else { false } }

  public var longestSilence: Duration? { silence }

  /// Nobody said that what is at the far end reads anything.
  public var takesReports: Bool { false }

  /// - Throws: ``FramedError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await stream.open(
      { [framing, silence, eventLoop] in
        FramedStream(framing, silence: silence, on: eventLoop, delivering: sink)
      },
      begin: { [source, sockets, eventLoop] stream in
        switch source {
        case .server(let host, let port):
          stream.connect(
            TCPConnector(host: host, port: port, sockets: sockets, eventLoop: eventLoop))
        case .pipe(let descriptor): stream.read(from: descriptor)
        }
      }
    ).get()
  }

  public func sendFeedback(_ bytes: ByteBuffer) {}

  public func holdReading(_ isHeld: Bool) { stream.holdReading(isHeld) }

  public func counters() async -> TransportCounters { await stream.counters() }

  public func close() { stream.close() }
}

extension TransportKind {
  /// `tcp://host:port`, and `-` for standard input.
  static let framed = TransportKind(name: "tcp", schemes: ["tcp"], arguments: ["-"]) {
    source, options, eventLoop throws(TransportError) in
    if source == "-" {
      // ‘rtp-recv - < FILE’: a file is no stream, and says nothing of time.
      if isFile(STDIN_FILENO) {
        var configuration = options.replay
        configuration.framing = options.framed.framing
        return ReplayTransport(
          path: "/dev/stdin", configuration: configuration, on: eventLoop)
      }
      return FramedTransport(
        source: .pipe(STDIN_FILENO), framing: options.framed.framing ?? .rtp4, on: eventLoop)
    }
    let address = try SourceAddress(parsing: source)
    guard address.source == nil else { throw .source(source, .sourceWithoutGroup) }
    guard let host = address.host else { throw .source(source, .missingHost) }
    guard address.port > 0 else { throw .source(source, .invalidPort("0")) }
    return FramedTransport(
      source: .server(host: host, port: address.port), framing: options.framed.framing ?? .rfc4571,
      silence: options.framed.silence, sockets: options.sockets, on: eventLoop)
  }

  private static func isFile(_ descriptor: CInt) -> Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }
}
