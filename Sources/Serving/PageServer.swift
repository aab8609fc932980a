import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import RTPWire
import Receiver

/// Serves the live page, and whatever else has a route, over HTTP.
///
/// It has an event loop of its own, so that its viewers take no time from what receives.
public final class PageServer: Sendable {
  /// The address in a browser, with the token where one is needed.
  public let url: String
  /// Whether other machines can reach it.
  public let isReachable: Bool

  private let group: MultiThreadedEventLoopGroup
  private let channel: any Channel

  /// Begins to serve `page` and `routes` at `address`.
  ///
  /// - Parameters:
  ///   - address: the host, which can be a name, and the port.
  ///   - page: what is shown.
  ///   - routes: what else there is.
  ///   - token: what everybody has to know; `nil` makes a random one where `address` can be reached
  ///     from other machines.
  /// - Returns: the server, which listens.
  /// - Throws: ``ServingError``.
  public static func start(
    at address: ListenAddress, page: LivePage, routes: Routes, token: AccessToken? = nil
  ) async throws(ServingError) -> PageServer {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      return try await PageServer(
        at: address, page: page, routes: routes, token: token, on: group)
    } catch {
      try? await group.shutdownGracefully()
      let reason =
        (error as? IOError).map { Self.reason(of: $0.errnoCode) }
        ?? (error is SocketAddressError.UnknownHost ? "the name is not known" : nil)
      throw ServingError(
        description: "the page cannot be served at \(address): "
          + (reason ?? "\(error)"))
    }
  }

  /// What the kernel says, and what to do where another choice helps.
  private static func reason(of code: CInt) -> String {
    let words = unsafe String(cString: strerror(code))
    return code == EADDRINUSE ? words + "; another program has this port; choose another" : words
  }

  private init(
    at address: ListenAddress, page: LivePage, routes: Routes, token chosen: AccessToken?,
    on group: MultiThreadedEventLoopGroup
  ) async throws {
    let loop = group.next()
    let tasks = TaskQueue(label: "rtp-recv.routes")
    var withPage = routes
    page.add(to: &withPage)
    let table = withPage
    let all = NIOLoopBoundBox<Connections>.makeBoxSendingValue(Connections(), eventLoop: loop)
    let entrance = NIOLoopBoundBox<AccessRules?>.makeBoxSendingValue(nil, eventLoop: loop)
    channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 128)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_sndbuf), value: Self.sendBuffer)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.writeBufferWaterMark, value: Self.waterMark)
      .childChannelInitializer { channel in
        let connections = all.value
        guard connections.admit(channel) else { return channel.close() }
        channel.closeFuture.assumeIsolated().whenComplete { _ in connections.leave(channel) }
        return channel.eventLoop.makeCompletedFuture {
          // The first ones may come before it is known what they may ask for.
          guard let rules = entrance.value else { throw ServingError(description: "not yet") }
          let bound = RequestBound(connections)
          let handler = RequestExchange(rules: rules, routes: table, bound: bound, tasks: tasks)
          let replaced = NIOLoopBound((bound, handler), eventLoop: channel.eventLoop)
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(bound)
          try pipeline.configureHTTPServerPipeline(
            withServerUpgrade: (
              upgraders: [Self.upgrader(to: page, rules: rules)],
              completionHandler: { context in
                let pipeline = context.pipeline.syncOperations
                pipeline.removeHandler(replaced.value.0, promise: nil)
                pipeline.removeHandler(replaced.value.1, promise: nil)
              }
            ))
          try pipeline.addHandler(handler)
        }
      }
      .bind(host: address.host, port: Int(address.port)).get()
    guard let local = channel.localAddress, let port = local.port else {
      throw ServingError(description: "it has no address")
    }
    isReachable = !local.isLoopback
    // One that was chosen is asked for on this machine too: a proxy may pass others on.
    let token = chosen ?? (isReachable ? AccessToken() : nil)
    let rules = AccessRules(
      names: Set(Self.names + [address.host]), token: token, port: port)
    try await loop.submit { entrance.value = rules }.get()
    let isAnywhere = ["0.0.0.0", "::"].contains(address.host)
    let host = isAnywhere ? Self.names.first ?? "localhost" : address.host
    url = "http://\(host.hostInURL):\(port)/" + (token.map { "?token=\($0.text)" } ?? "")
    self.group = group
  }

  /// Turns a request into the WebSocket of an open page, if it may have one.
  private static func upgrader(
    to page: LivePage, rules: AccessRules
  ) -> NIOWebSocketServerUpgrader {
    NIOWebSocketServerUpgrader(
      maxFrameSize: ViewerSocket.longestFrame,
      shouldUpgrade: { channel, head in
        let isAllowed = rules.decide(on: head) == .allowed && Request(head).path == "/live"
        return channel.eventLoop.makeSucceededFuture(isAllowed ? HTTPHeaders() : nil)
      },
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ViewerSocket(page: page))
        }
      })
  }

  /// Ends all connections.
  public func stop() async {
    try? await channel.close().get()
    try? await group.shutdownGracefully()
  }

  /// The names of this machine, that of its users first.
  private static var names: [String] {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return [] }
    let text = String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.isEmpty ? [] : [text, "\(text).local"]
  }

  /// What the kernel holds for one that reads slowly: about a second of a fast camera.
  private static let sendBuffer = 256 << 10
  private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(
    low: 64 << 10, high: 256 << 10)
}

extension SocketAddress {
  /// Whether only this machine can reach it.
  var isLoopback: Bool {
    switch self {
    case .v4: ipAddress?.hasPrefix("127.") == true
    case .v6: ipAddress == "::1"
    default: true
    }
  }
}
