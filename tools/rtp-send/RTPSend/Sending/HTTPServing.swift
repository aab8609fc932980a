import NIOCore
import NIOHTTP1
import RTPWire

/// The clients of an HTTP server that sends RTP packets, each after its length in four bytes.
///
/// Every client gets its own run of the stream, from the beginning.
final class HTTPServing {
  let configuration: SenderConfiguration
  let onEvent: @Sendable (SenderEvent) -> Void
  /// Those of the event loop that all clients share.
  var turns = LoopTurns()
  private let promise: EventLoopPromise<SendReport>
  private var listener: (any Channel)?
  private var runs: ConfiguredRuns
  private var clients: [ObjectIdentifier: any Channel] = [:]
  /// The hosts of all connections, whatever they have asked for.
  private var connections: [ObjectIdentifier: String] = [:]
  private var report = SendReport()
  private var failure: (any Error)?
  private var isOver = false

  init(
    _ configuration: SenderConfiguration, report promise: EventLoopPromise<SendReport>,
    onEvent: @escaping @Sendable (SenderEvent) -> Void
  ) {
    self.configuration = configuration
    runs = ConfiguredRuns(configuration)
    self.promise = promise
    self.onEvent = onEvent
  }

  func began(on listener: any Channel) { self.listener = listener }

  /// Whether a connection may stay: there are as many as a server of RTSP has.
  func admit(_ client: any Channel) -> Bool {
    let limits = RTSPServerConfiguration.Limits()
    let host = client.remoteAddress?.ipAddress ?? ""
    guard !isOver, connections.count < limits.connections,
      connections.values.count(where: { $0 == host }) < limits.connectionsOfOneAddress
    else { return false }
    connections[ObjectIdentifier(client)] = host
    return true
  }

  func disconnected(_ client: any Channel) { connections[ObjectIdentifier(client)] = nil }

  /// A client has asked for the stream.
  func arrived(_ client: any Channel) {
    clients[ObjectIdentifier(client)] = client
    if let address = client.remoteAddress { onEvent(.clientArrived(address)) }
  }

  /// What the next client is sent.
  func nextRun() -> SenderConfiguration { runs.next() }

  /// A client has had all, or has gone; the last one ends a server that was stopped.
  func left(_ client: any Channel, with report: SendReport, after ending: SendReport.Ending) {
    guard clients.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
    self.report.add(report)
    if ending == .clientLeft, let address = client.remoteAddress {
      onEvent(.clientLeft(address))
    }
    if !isOver, configuration.servesOnce { stop(ending) }
    finishIfAlone()
  }

  /// The source failed for one client; others may go on.
  ///
  /// It was there when the server began, so this may be for want of descriptors, and pass. Where
  /// one client is served, it is the end.
  func failed(_ error: any Error, for client: any Channel) {
    if let address = client.remoteAddress {
      onEvent(.clientFailed(address, reason: "\(error)"))
    }
    guard configuration.servesOnce else { return }
    failure = failure ?? error
    stop(.stopped)
  }

  func stop(_ ending: SendReport.Ending) {
    guard !isOver else { return }
    isOver = true
    report.ending = ending
    listener?.close(promise: nil)
    for client in clients.values {
      client.pipeline.fireUserInboundEventTriggered(StopSending())
    }
    finishIfAlone()
  }

  private func finishIfAlone() {
    guard isOver, clients.isEmpty else { return }
    promise.completeWith(failure.map { .failure($0) } ?? .success(report))
  }
}

/// The socket that clients connect to.
final class HTTPListening: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let server: HTTPServing

  init(_ server: HTTPServing) { self.server = server }

  func channelActive(context: ChannelHandlerContext) { server.began(on: context.channel) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is StopSending { server.stop(.stopped) }
  }
}
