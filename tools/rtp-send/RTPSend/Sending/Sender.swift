public import Impairment
public import NIOCore
import NIOHTTP1
import NIOPosix

/// Everything that decides what a sender does.
public struct SenderConfiguration: Sendable {
  /// At least one; no two have the same SSRC.
  public var tracks: [TrackConfiguration]
  public var destination: Destination
  public var pacing = Pacing.mediaTime(speed: 1)
  /// The impairments' seed; the same one gives the same losses.
  public var seed: UInt64 = 0
  /// Whether sender reports and a goodbye are sent.
  public var sendsRTCP = true
  /// How far above the port of a track its RTCP goes: 0 is the same port (RFC 5761).
  public var controlOffset = 0
  /// What a client has to say to be served.
  public var hello = Array("Hello".utf8)
  /// The expected time between a client's heartbeats.
  public var heartbeatInterval = Duration.seconds(3)
  /// Whether to end when the first client has gone, instead of waiting for the next.
  public var servesOnce = false

  /// Takes what the networks decide about each packet; called on the event loop.
  public var onVerdicts: (@Sendable ([Verdict]) -> Void)?

  public init(tracks: [TrackConfiguration], destination: Destination) {
    self.tracks = tracks
    self.destination = destination
  }

  /// A session of video alone.
  public init(feed: PacketFeed.Configuration, destination: Destination) {
    self.init(tracks: [TrackConfiguration(.video(feed))], destination: destination)
  }
}

extension SenderConfiguration {
  /// Hands on what the networks of a run decided since the last call.
  func tellVerdicts(of run: inout StreamRun?) {
    guard let onVerdicts, let verdicts = run?.takeVerdicts(), !verdicts.isEmpty else { return }
    onVerdicts(verdicts)
  }
}

/// News for the person who runs a sender.
public enum SenderEvent: Sendable, Hashable {
  case clientArrived(SocketAddress)
  /// The client was silent for three heartbeat intervals.
  case clientLeft(SocketAddress)
  /// What a client has reported of its tracks; said once, at its end.
  case clientReported(SocketAddress, [ReportedReception])
  /// Another client said hello while one was served; said once for each that comes after another.
  case clientIgnored(SocketAddress)
  /// A client takes a live stream more slowly than it is made; said once for each.
  case clientTooSlow(SocketAddress)
  /// The source cannot be read or encoded for this client.
  case clientFailed(SocketAddress, reason: String)
  /// One of several streams cannot be read or encoded.
  case streamFailed(name: String, reason: String)
}

extension SenderEvent {
  /// What a client has reported, by tracks, if that is anything.
  static func reported(_ receptions: [Int: ReportedReception], by client: SocketAddress)
    -> SenderEvent?
  {
    guard !receptions.isEmpty else { return nil }
    return .clientReported(client, receptions.sorted { $0.key < $1.key }.map(\.value))
  }
}

/// The totals over all clients.
public struct SendReport: Sendable, Hashable {
  public enum Ending: String, Sendable {
    case sourceEnded
    case clientLeft
    case stopped
  }

  public var ending = Ending.stopped
  /// Pictures taken from the source.
  public var frames = 0
  /// Packets of sound given to the network; ``network`` has all.
  public var soundPackets = 0
  public var network = ImpairmentCounters()
  /// What the receivers asked for.
  public var feedback = FeedbackCounters()
  /// Datagrams written, garbage and RTCP included, and their bytes.
  public var datagrams = 0
  public var bytes = 0
  /// RTCP compounds among them.
  public var reports = 0
  /// NAL units that were left out because RTP has no place for their types.
  public var refusedUnits = 0
  /// Pictures and frames of sound that were left out for clients that were too slow.
  public var skippedUnits = 0
  public var clients = 0
  /// By how much a picture was late at most, where many streams are sent.
  public var lateness = Duration.zero
  /// From the first packet to the last.
  public var duration = Duration.zero

  public init() {}
}

/// A sender at work: one socket on one event loop.
public final class Sender: Sendable {
  /// Where the socket is bound; a hello or a request goes here.
  public let localAddress: SocketAddress
  /// Where the packets go to, or `nil` when that is up to the clients.
  public let remoteAddress: SocketAddress?
  private let channel: any Channel
  private let report: EventLoopFuture<SendReport>

  /// Opens the socket and begins to send, or to wait for a hello.
  ///
  /// `onEvent` is called on the event loop and must not block.
  ///
  /// - Throws: ``SendError`` when the source or the socket cannot be opened.
  public static func start(
    _ configuration: SenderConfiguration,
    onEvent: @escaping @Sendable (SenderEvent) -> Void = { _ in }
  ) async throws -> Sender {
    let address = try configuration.destination.resolved()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = loop.makePromise(of: SendReport.self)
    var remote: SocketAddress?
    if case .send = configuration.destination { remote = address }
    do {
      let channel = try await bind(configuration, to: address, on: loop, promise, onEvent).get()
      return Sender(
        channel: channel, localAddress: channel.localAddress ?? address, remoteAddress: remote,
        report: promise.futureResult)
    } catch {
      promise.fail(error)
      throw cannotListen(address, error)
    }
  }

  /// Serves streams by RTSP, until it is stopped.
  ///
  /// `onEvent` is called on the event loop and must not block.
  ///
  /// - Throws: ``SendError`` when the address cannot be taken, or the certificate cannot be used.
  public static func serve(
    _ configuration: RTSPServerConfiguration,
    onEvent: @escaping @Sendable (SenderEvent) -> Void = { _ in }
  ) async throws -> Sender {
    let address: SocketAddress
    do {
      address = try SocketAddress.makeAddressResolvingHost(
        configuration.host, port: configuration.port)
    } catch {
      throw SendError.network(
        address: configuration.host, reason: "this name or address is not known")
    }
    let secrecy = try configuration.identity.map { try ServerSecrecy($0) }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = loop.makePromise(of: SendReport.self)
    do {
      let channel = try await listen(
        configuration, at: address, secrecy, on: loop, promise, onEvent
      )
      .get()
      return Sender(
        channel: channel, localAddress: channel.localAddress ?? address, remoteAddress: nil,
        report: promise.futureResult)
    } catch {
      promise.fail(error)
      throw cannotListen(address, error)
    }
  }

  private static func cannotListen(_ address: SocketAddress, _ error: any Error) -> SendError {
    let reason = (error as? IOError).map { Libav.reason(-$0.errnoCode) } ?? "\(error)"
    return SendError.network(
      address: address.hostAndPort,
      reason: "cannot listen there: \(reason); port 0 takes a free port, :PORT any address")
  }

  private static func listen(
    _ configuration: RTSPServerConfiguration, at address: SocketAddress, _ secrecy: ServerSecrecy?,
    on loop: any EventLoop, _ promise: EventLoopPromise<SendReport>,
    _ onEvent: @escaping @Sendable (SenderEvent) -> Void
  ) -> EventLoopFuture<any Channel> {
    loop.flatSubmit {
      let server = NIOLoopBound(
        RTSPServing(configuration, on: loop, report: promise, onEvent: onEvent), eventLoop: loop)
      return ServerBootstrap(group: loop)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RTSPListening(server.value))
          }
        }
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(
          .writeBufferWaterMark,
          // What waits beyond this waits where it can be left out.
          value: ChannelOptions.Types.WriteBufferWaterMark(low: 64 << 10, high: 256 << 10)
        )
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let secrecy { try pipeline.addHandler(secrecy.makeLayer()) }
            try pipeline.addHandler(RTSPConnection(server.value, on: channel.eventLoop))
          }
        }
        .bind(to: address)
    }
  }

  /// Opens the socket; its handler completes `promise` at the end.
  private static func bind(
    _ configuration: SenderConfiguration, to address: SocketAddress, on loop: any EventLoop,
    _ promise: EventLoopPromise<SendReport>, _ onEvent: @escaping @Sendable (SenderEvent) -> Void
  ) throws -> EventLoopFuture<any Channel> {
    // Beyond this the socket is the bottleneck, and sending waits for it.
    let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 1 << 22)
    func datagrams(
      from local: SocketAddress, to remote: SocketAddress?
    ) -> EventLoopFuture<any Channel> {
      DatagramBootstrap(group: loop)
        .channelOption(.writeBufferWaterMark, value: waterMark)
        // A sender that is too slow for its times has few moments for reading.
        .channelOption(.maxMessagesPerRead, value: 64)
        .bindOrClose(to: local) { channel in
          let session = SendingSession(
            configuration, to: remote, on: channel.eventLoop, report: promise, onEvent: onEvent)
          try channel.pipeline.syncOperations.addHandler(session)
        }
    }
    switch configuration.destination {
    case .listen:
      return datagrams(from: address, to: nil)
    case .send:
      let anyAddress = address.protocol == .inet6 ? "::" : "0.0.0.0"
      return datagrams(from: try SocketAddress(ipAddress: anyAddress, port: 0), to: address)
    case .serveHTTP:
      let server = NIOLoopBoundBox.makeBoxSendingValue(
        HTTPServing(configuration, report: promise, onEvent: onEvent), eventLoop: loop)
      return ServerBootstrap(group: loop)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(HTTPListening(server.value))
          }
        }
        .childChannelOption(.writeBufferWaterMark, value: waterMark)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(
              HTTPClientSession(server.value, on: channel.eventLoop))
          }
        }
        .bind(to: address)
    case .serveRTSP:
      throw SendError.invalid(option: "DESTINATION", reason: "of RTSP is for a server of streams")
    }
  }

  private init(
    channel: any Channel, localAddress: SocketAddress, remoteAddress: SocketAddress?,
    report: EventLoopFuture<SendReport>
  ) {
    self.channel = channel
    self.localAddress = localAddress
    self.remoteAddress = remoteAddress
    self.report = report
  }

  /// Says goodbye and ends; can be called at any time, from any thread, any number of times.
  public func stop() { channel.pipeline.fireUserInboundEventTriggered(StopSending()) }

  /// The totals, once everything has been sent.
  ///
  /// - Throws: ``SendError`` when the source or the network failed.
  public func finished() async throws -> SendReport { try await report.get() }
}

/// Asks the owner of the socket to end.
struct StopSending: Sendable {}
