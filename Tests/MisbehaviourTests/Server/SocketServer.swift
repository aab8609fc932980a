import BlockingIO
import NIOCore
import NIOPosix
import RTPWire

/// A ``ScriptedServer`` on a port of loopback that the kernel chooses.
///
/// All of its state belongs to its event loop, which is what makes it safe to share.
final class SocketServer: @unchecked Sendable {
  private let eventLoop: any EventLoop
  private var dialogue: ScriptedServer?
  private var listener: (any Channel)?
  private var datagrams: [any Channel] = []
  private var channels: [ScriptedServer.Connection: any Channel] = [:]
  private var opened = 0
  private var wakeUp: Scheduled<Void>?
  /// Where connections are taken.
  private(set) var port = 0

  /// Opens the ports; connections are taken from now on.
  static func start(
    _ script: Script, scheme: String = "rtsp",
    byteLimit: (@Sendable (ScriptedServer.Connection) -> Int?)? = nil
  ) async throws -> SocketServer {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let server = SocketServer(on: eventLoop)
    let listener = try await ServerBootstrap(group: eventLoop)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ConnectionEnd(of: server))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let datagrams = try await pair(on: eventLoop)
    var place = ScriptedServer.Place()
    (place.scheme, place.port) = (scheme, listener.localAddress?.port ?? 0)
    place.mediaPort = datagrams[0].localAddress?.port ?? 0
    var dialogue = ScriptedServer(
      script, usual: try Script.usual.get(), clip: try ClipPackets.shared.get(), at: place)
    dialogue.byteLimit = byteLimit
    let scripted = dialogue
    try await eventLoop.submit {
      server.dialogue = scripted
      (server.listener, server.datagrams) = (listener, datagrams)
      server.port = listener.localAddress?.port ?? 0
    }.get()
    return server
  }

  private init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

  /// All that has been asked for so far.
  func requests() async throws -> [ScriptedServer.Request] {
    try await eventLoop.submit { self.dialogue?.requests ?? [] }.get()
  }

  /// Cuts all connections and frees the ports.
  func stop() async throws {
    try await eventLoop.submit {
      self.wakeUp?.cancel()
      for channel in self.channels.values { channel.close(promise: nil) }
      for channel in self.datagrams { channel.close(promise: nil) }
      self.listener?.close(promise: nil)
    }.get()
  }

  // MARK: - On the event loop

  fileprivate func accept(_ channel: any Channel) -> ScriptedServer.Connection {
    opened += 1
    channels[opened] = channel
    perform(dialogue?.opened(opened, at: .now))
    return opened
  }

  fileprivate func receive(_ bytes: [UInt8], on connection: ScriptedServer.Connection) {
    perform(dialogue?.receive(bytes, on: connection, at: .now))
  }

  fileprivate func closed(_ connection: ScriptedServer.Connection) {
    channels[connection] = nil
    dialogue?.closed(connection)
  }

  private func perform(_ outputs: [ScriptedServer.Output]?) {
    for output in outputs ?? [] {
      switch output {
      case .send(let connection, let bytes):
        channels[connection]?.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
      case .datagram(let bytes, let port, let isControl):
        guard let address = try? SocketAddress(ipAddress: "127.0.0.1", port: port) else { continue }
        datagrams[isControl ? 1 : 0].writeAndFlush(
          AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: bytes)), promise: nil)
      case .close(let connection):
        // Half a close: data of the client that is still unread would turn a whole one into a
        // reset.
        let channel = channels[connection]
        channel?.writeAndFlush(ByteBuffer()).whenComplete { _ in
          channel?.close(mode: .output, promise: nil)
        }
      case .reset(let connection):
        let channel = channels[connection]
        channel?.writeAndFlush(ByteBuffer()).whenComplete { _ in
          _ = (channel as? any SocketOptionProvider)?
            .setSoLinger(linger(l_onoff: 1, l_linger: 0))
            .always { _ in channel?.close(promise: nil) }
        }
      }
    }
    wakeUp?.cancel()
    wakeUp = nil
    guard let due = dialogue?.deadline else { return }
    let delay = max(0, Instant.now.nanoseconds(to: due))
    wakeUp = eventLoop.scheduleTask(in: .nanoseconds(delay)) {
      self.perform(self.dialogue?.advance(to: .now))
    }
  }

  /// Two sockets with neighbouring ports.
  private static func pair(on eventLoop: any EventLoop) async throws -> [any Channel] {
    let bootstrap = DatagramBootstrap(group: eventLoop)
    for _ in 0..<50 {
      let first = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
      let port = first.localAddress?.port ?? 0
      if port < 65_535,
        let second = try? await bootstrap.bind(host: "127.0.0.1", port: port + 1).get()
      {
        return [first, second]
      }
      try await first.close().get()
    }
    throw Script.Malformed(description: "no two neighbouring ports are free")
  }
}

/// Hands what comes on one connection to its server.
private final class ConnectionEnd: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  private weak var server: SocketServer?
  private var connection = 0

  init(of server: SocketServer?) { self.server = server }

  func channelActive(context: ChannelHandlerContext) {
    connection = server?.accept(context.channel) ?? 0
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    server?.receive(Array(unwrapInboundIn(data).readableBytesView), on: connection)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The client says nothing more, so all is said.
    if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) { server?.closed(connection) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
