public import NIOCore
public import RTPWire

/// RTP from an RTSP server (RFC 2326): in its connection, over UDP or multicast, encrypted or not.
///
/// ``open(delivering:)`` returns when the server plays or the first packet comes, whichever is
/// first.
public final class RTSPTransport: RTPTransport {
  public var eventLoop: any EventLoop { receiver.eventLoop }
  let url: ServerURL
  let credentials: Credentials?
  private let configuration: RTSPConfiguration
  private let sockets: UDPTransport.SocketConfiguration
  let receiver: ReceiverSlot<RTSPReceiver>

  /// Makes a transport without opening anything; credentials in the URL override configured ones.
  ///
  /// - Throws: ``TransportError/source(_:_:)`` when `source` is not the URL of a stream.
  public init(
    source: String, configuration: RTSPConfiguration = RTSPConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) throws(TransportError) {
    (url, credentials) = try ServerURL.parse(
      source: source, as: configuration.lowerTransport == .http ? .rtspInHTTP : .rtsp,
      configured: configuration.credentials)
    self.configuration = configuration
    self.sockets = sockets
    receiver = ReceiverSlot(on: eventLoop)
  }

  deinit { close() }

  public var clock: ArrivalClock { .monotonic }

  /// A server is asked to play, so its silence is a fault.
  public var isPassive: Bool { false }

  /// The value of ``RTSPConfiguration/silence``, and where UDP is tried first, the time for that.
  public var longestSilence: Duration? { configuration.longestSilence }

  /// Dahua and FLIR cameras end a session without reports.
  public var takesReports: Bool { true }

  /// - Throws: ``RTSPError``, ``TLSError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await start(.play, delivering: sink).get()
  }

  /// Asks the server for its description at the address of `source`, without playing anything.
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
    let description = await transport.receiver.read(\.description)
    guard let description else { throw RTSPError.emptyDescription }
    return description
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    receiver.withReceiver { $0.sendFeedback(bytes, track: track) }
  }

  /// Makes the server wait; only media in the connection itself can.
  public func holdReading(_ isHeld: Bool) { receiver.holdReading(isHeld) }

  public var canGather: Bool { true }

  public func gather(for time: Duration) { receiver.withReceiver { $0.gather(for: time) } }

  public func counters() async -> TransportCounters { await receiver.counters() }

  /// Ends the transport; afterwards the server gets TEARDOWN and a second to answer.
  public func close() { receiver.close() }

  private func start(
    _ purpose: RTSPSession.Purpose, delivering sink: (any DatagramSink)?
  ) -> EventLoopFuture<Void> {
    receiver.open(
      { [url, credentials, configuration, sockets, eventLoop] in
        RTSPReceiver(
          url, credentials: credentials, configuration: configuration, sockets: sockets,
          purpose: purpose, on: eventLoop, delivering: sink)
      }, begin: { $0.start() })
  }
}

extension TransportKind {
  /// `rtsp://` and `rtsps://`.
  public static let rtsp: TransportKind = {
    var kind = TransportKind(
      name: "rtsp", schemes: ServerURL.Family.rtsp.schemes,
      make: { source, options, eventLoop in
        // '--transport rtsp host/path' has no scheme.
        let url = SourceAddress.scheme(of: source) == nil ? "rtsp://" + source : source
        return try RTSPTransport(
          source: url, configuration: options.rtspInEffect, sockets: options.sockets,
          on: eventLoop)
      },
      describe: { source, options, eventLoop in
        StreamListing(
          of: try await RTSPTransport.describe(
            source: source, configuration: options.rtspInEffect, sockets: options.sockets,
            on: eventLoop))
      })
    kind.formerSchemes = ServerURL.Family.rtsp.formerSchemes
    kind.usage = [
      SourceForm(
        "rtsp://HOST[:PORT]/PATH", "play a camera's or server's stream\n(rtsps:// encrypted)")
    ]
    kind.hasLogin = true
    kind.describesMedia = { _ in true }
    kind.learn = { options, former in
      // If nothing came over UDP, the next connection need not try it again.
      if options.rtsp.lowerTransport == .automatic, former.carriage == .tcp {
        options.rtsp.lowerTransport = .tcp
      }
      if former.hasUsedDigest { options.rtsp.allowsBasic = false }
      options.rtsp.fatalKeepAlives.formUnion(former.rtsp.fatalKeepAlives)
      options.rtsp.impatience = former.rtsp.impatience ?? 0
    }
    kind.counters = TransportCounter.ofSockets + TransportCounter.ofRTSP
    kind.hints = TransportHint.ofSockets + TransportHint.ofRTSP
    kind.options = DeclaredOption.ofRTSP + DeclaredOption.ofTLS + DeclaredOption.ofSockets
    kind.scopes = [OptionScope("rtsp://", toolOptions: ["--feedback", "--timeout"])]
    return kind
  }()
}

extension TransportOptions {
  /// The options for `rtsp://`, with what holds for all transports where they have none.
  var rtspInEffect: RTSPConfiguration {
    var configuration = rtsp
    configuration.credentials = configuration.credentials ?? credentials
    configuration.silence = silence.duration(standard: configuration.silence)
    // What was said is not learnt otherwise.
    if silence != .standard { configuration.impatience = 0 }
    if configuration.tls == TLSConfiguration() { configuration.tls = tls }
    if configuration.protection == SRTPOptions() { configuration.protection = srtp }
    if media.wantsEverything { configuration.setsUpEverything = true }
    if !media.soundEncodings.isEmpty { configuration.soundEncodings = media.soundEncodings }
    configuration.formats = media
    if configuration.selection == .everything, let number = media.number {
      configuration.selection = .number(number)
    }
    return configuration
  }
}

extension ServerURL.Family {
  /// RTSP, over TLS with a port of its own (RFC 7826 §22.14).
  ///
  /// 'rtspu' means RTSP over UDP, which no server offers any more (RFC 7826 §4.2).
  static let rtsp = ServerURL.Family(
    scheme: "rtsp", secureScheme: "rtsps", port: 554, securePort: 322, formerSchemes: ["rtspu"])

  /// RTSP in HTTP: the same addresses, but the port where nothing else gets through.
  static let rtspInHTTP = ServerURL.Family(
    scheme: "rtsp", secureScheme: "rtsps", port: 80, securePort: 443, formerSchemes: ["rtspu"])
}
