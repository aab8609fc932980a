public import NIOCore
public import RTPWire

/// RTP from an HTTP server: an endless body, in which each packet follows its length in four bytes,
/// in network byte order.
///
/// ``open(delivering:)`` returns when the server has answered. All transfers of a process run on
/// one thread for libcurl; packets are delivered on ``eventLoop``.
public final class HTTPTransport: RTPTransport {
  public var eventLoop: any EventLoop { receiver.eventLoop }
  let url: ServerURL
  private let credentials: Credentials?
  private let configuration: HTTPConfiguration
  private let sockets: UDPTransport.SocketConfiguration
  private let receiver: ReceiverSlot<HTTPReceiver>

  /// Makes a transport without opening anything; credentials in the URL override configured ones.
  ///
  /// - Throws: ``TransportError/source(_:_:)`` when `source` is not the URL of a stream.
  public init(
    source: String, configuration: HTTPConfiguration = HTTPConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) throws(TransportError) {
    (url, credentials) = try ServerURL.parse(
      source: source, as: .http, configured: configuration.credentials)
    self.configuration = configuration
    self.sockets = sockets
    receiver = ReceiverSlot(on: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// A server is asked to send, so its silence is a fault.
  public var isPassive: Bool { false }

  /// The value of ``HTTPConfiguration/silence``.
  public var longestSilence: Duration? { configuration.silence }

  /// A response has no way back.
  public var takesReports: Bool { false }

  /// - Throws: ``HTTPError``, ``TLSError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await receiver.open(
      { [url, credentials, configuration, sockets, eventLoop] in
        HTTPReceiver(
          url, credentials: credentials, configuration: configuration, sockets: sockets,
          on: eventLoop, delivering: sink)
      }, begin: { $0.start() }
    ).get()
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {}

  public func holdReading(_ isHeld: Bool) { receiver.holdReading(isHeld) }

  public func counters() async -> TransportCounters { await receiver.counters() }

  public func close() { receiver.close() }
}

extension TransportKind {
  /// `http://` and `https://`.
  public static let http: TransportKind = {
    var kind = TransportKind(name: "http", schemes: ServerURL.Family.http.schemes) {
      source, options, eventLoop in
      // '--transport http host:port' has no scheme.
      let url = SourceAddress.scheme(of: source) == nil ? "http://" + source : source
      return try HTTPTransport(
        source: url, configuration: options.httpInEffect, sockets: options.sockets, on: eventLoop)
    }
    kind.usage = [
      SourceForm(
        "http://HOST[:PORT]/PATH",
        "HTTP progressive: length-prefixed packets\n(https:// encrypted)")
    ]
    kind.hasLogin = true
    kind.learn = { options, former in
      if former.hasUsedDigest { options.http.allowsBasic = false }
    }
    kind.hints = TransportHint.ofConnections(kind.schemes)
    kind.options = DeclaredOption.ofHTTP + DeclaredOption.ofTLS + DeclaredOption.ofConnections
    kind.scopes = [OptionScope("http://", toolOptions: ["--timeout"])]
    return kind
  }()
}

extension TransportOptions {
  /// The options for `http://`, with what holds for all transports where they have none.
  var httpInEffect: HTTPConfiguration {
    var configuration = http
    configuration.credentials = configuration.credentials ?? credentials
    configuration.silence = silence.duration(standard: configuration.silence)
    if configuration.tls == TLSConfiguration() { configuration.tls = tls }
    return configuration
  }
}

extension ServerURL.Family {
  static let http = ServerURL.Family(
    scheme: "http", secureScheme: "https", port: 80, securePort: 443)
}
