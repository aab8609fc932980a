public import NIOCore
public import RTPWire

/// The stream of a camera that says itself where it is (ONVIF Profiles S and T): its services are
/// asked for the address, and what comes from there comes by RTSP.
///
/// ``open(delivering:)`` returns when the camera plays or the first packet comes, whichever is
/// first.
public final class ONVIFTransport: RTPTransport {
  public var eventLoop: any EventLoop { receiver.eventLoop }
  private let device: ServerURL
  private let credentials: Credentials?
  private let choice: ONVIFDialogue.ProfileChoice?
  private let configuration: RTSPConfiguration
  private let sockets: UDPTransport.SocketConfiguration
  private let receiver: ReceiverSlot<ONVIFReceiver>

  /// Makes a transport without opening anything; credentials in the URL override configured ones.
  ///
  /// The profile is the one that the URL's path names, or else that of `number`, counted from 0, or
  /// else the first that can be received, by the ``MediaChoice`` of a catalogue.
  ///
  /// - Throws: ``TransportError/source(_:_:)`` when `source` is not the URL of a camera.
  public init(
    source: String, profile number: Int? = nil,
    configuration: RTSPConfiguration = RTSPConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) throws(TransportError) {
    var (url, credentials) = try ServerURL.parse(
      source: source, as: .onvif, configured: configuration.credentials)
    choice = Self.choice(in: url.path) ?? number.map { .number($0) }
    (url.family, url.path) = (.http, "")
    device = url
    self.credentials = credentials
    self.configuration = configuration
    self.sockets = sockets
    receiver = ReceiverSlot(on: eventLoop)
  }

  deinit { close() }

  /// The profile that a path names.
  ///
  /// Other programs write the path of the device's service there, which names none.
  private static func choice(in path: String) -> ONVIFDialogue.ProfileChoice? {
    let name = path.drop { $0 == "/" }
    return name.isEmpty || path == ONVIFDialogue.devicePath
      ? nil : .called(String(name).percentDecoded)
  }

  public var clock: ArrivalClock { .monotonic }

  /// A camera is asked to play, so its silence is a fault.
  public var isPassive: Bool { false }

  /// That of the RTSP session.
  public var longestSilence: Duration? { configuration.longestSilence }

  /// Dahua cameras end a session without reports.
  public var takesReports: Bool { true }

  /// - Throws: ``ONVIFError``, ``HTTPError``, ``RTSPError``, ``TLSError`` or ``TransportError``.
  public func open(delivering sink: any DatagramSink) async throws {
    try await start(.play(choice), delivering: sink).get()
  }

  /// Asks the camera at the address of `source` for its profiles, without playing anything.
  ///
  /// - Throws: as ``open(delivering:)`` does.
  public static func describe(
    source: String, configuration: RTSPConfiguration = RTSPConfiguration(),
    sockets: UDPTransport.SocketConfiguration = UDPTransport.SocketConfiguration(),
    on eventLoop: any EventLoop
  ) async throws -> StreamListing {
    let transport = try ONVIFTransport(
      source: source, configuration: configuration, sockets: sockets, on: eventLoop)
    try await transport.start(.list, delivering: nil).get()
    let profiles = await transport.receiver.read(\.profiles) ?? []
    return StreamListing(profiles.map { ListedStream($0) })
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    receiver.withReceiver { $0.sendFeedback(bytes, track: track) }
  }

  /// Makes the camera wait; only media in the RTSP connection itself can.
  public func holdReading(_ isHeld: Bool) { receiver.holdReading(isHeld) }

  public var canGather: Bool { true }

  public func gather(for time: Duration) { receiver.withReceiver { $0.gather(for: time) } }

  public func counters() async -> TransportCounters { await receiver.counters() }

  /// Ends the transport; afterwards the camera gets TEARDOWN and a second to answer.
  public func close() { receiver.close() }

  private func start(
    _ purpose: ONVIFDialogue.Purpose, delivering sink: (any DatagramSink)?
  ) -> EventLoopFuture<Void> {
    receiver.open(
      { [device, credentials, configuration, sockets, eventLoop] in
        ONVIFReceiver(
          device, credentials: credentials, configuration: configuration, sockets: sockets,
          purpose: purpose, on: eventLoop, delivering: sink)
      }, begin: { $0.start() })
  }
}

extension TransportKind {
  /// `onvif://` and `onvifs://`.
  public static let onvif: TransportKind = {
    @Sendable func url(_ source: String) -> String {
      // '--transport onvif host' has no scheme.
      SourceAddress.scheme(of: source) == nil ? "onvif://" + source : source
    }
    var kind = TransportKind(
      name: "onvif", schemes: ServerURL.Family.onvif.schemes,
      make: { source, options, eventLoop in
        try ONVIFTransport(
          source: url(source), profile: options.media.number,
          configuration: options.rtspOfCamera, sockets: options.sockets, on: eventLoop)
      },
      describe: { source, options, eventLoop in
        try await ONVIFTransport.describe(
          source: url(source), configuration: options.rtspOfCamera, sockets: options.sockets,
          on: eventLoop)
      })
    kind.usage = [
      SourceForm(
        "onvif://HOST[/PROFILE]",
        "ask a camera by ONVIF where its stream is\n(onvifs:// encrypted)")
    ]
    kind.hasLogin = true
    kind.describesMedia = { _ in true }
    kind.learn = TransportKind.rtsp.learn
    kind.counters = TransportCounter.ofSockets + TransportCounter.ofRTSP + TransportCounter.ofONVIF
    kind.hints = TransportHint.ofSockets + TransportHint.ofRTSP
    kind.options = DeclaredOption.ofRTSP + DeclaredOption.ofTLS + DeclaredOption.ofSockets
    kind.scopes = [OptionScope("onvif://", toolOptions: ["--feedback", "--timeout"])]
    return kind
  }()
}

extension TransportOptions {
  /// The options for the stream that a camera gives the address of: what is chosen by number is one
  /// of its profiles, and all of that is received.
  fileprivate var rtspOfCamera: RTSPConfiguration {
    var options = self
    options.media.number = nil
    return options.rtspInEffect
  }
}

extension ServerURL.Family {
  /// The services of a camera: HTTP, whose path says the profile.
  static let onvif = ServerURL.Family(
    scheme: "onvif", secureScheme: "onvifs", port: 80, securePort: 443)
}
