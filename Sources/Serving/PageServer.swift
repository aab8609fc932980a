import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
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

  /// Begins to serve `routes` at `address`.
  ///
  /// - Throws: ``ServingError``.
  public static func start(at address: ListenAddress, routes: Routes) async throws(ServingError)
    -> PageServer
  {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      return try await PageServer(at: address, routes: routes, on: group)
    } catch {
      try? await group.shutdownGracefully()
      let reason = (error as? IOError).map { unsafe String(cString: strerror($0.errnoCode)) }
      throw ServingError(
        description: "the page cannot be served at \(address.host):\(address.port): "
          + (reason ?? "\(error)"))
    }
  }

  private init(
    at address: ListenAddress, routes: Routes, on group: MultiThreadedEventLoopGroup
  ) async throws {
    let loop = group.next()
    let tasks = TaskQueue(label: "rtp-recv.page")
    let connections = ConnectionCount()
    let entrance = NIOLoopBoundBox<AccessRules?>.makeBoxSendingValue(nil, eventLoop: loop)
    channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 128)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_sndbuf), value: Self.sendBuffer)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.writeBufferWaterMark, value: Self.waterMark)
      .childChannelInitializer { channel in
        guard connections.admit() else { return channel.close() }
        channel.closeFuture.whenComplete { _ in connections.leave() }
        return channel.eventLoop.makeCompletedFuture {
          guard let rules = entrance.value else { return }
          let bound = RequestBound()
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(bound)
          try pipeline.configureHTTPServerPipeline()
          try pipeline.addHandler(
            RequestHandler(rules: rules, routes: routes, bound: bound, tasks: tasks))
        }
      }
      .bind(host: address.host, port: Int(address.port)).get()
    guard let local = channel.localAddress, let port = local.port else {
      throw ServingError(description: "it has no address")
    }
    isReachable = !local.isLoopback
    let token = isReachable ? AccessToken() : nil
    let rules = AccessRules(
      names: Self.names.union([address.host]), token: token, port: port)
    try await loop.submit { entrance.value = rules }.get()
    let host = address.host.contains(":") ? "[\(address.host)]" : address.host
    url = "http://\(host):\(port)/" + (token.map { "?token=\($0.text)" } ?? "")
    self.group = group
  }

  /// Ends all connections.
  public func stop() async {
    try? await channel.close().get()
    try? await group.shutdownGracefully()
  }

  /// The names of this machine.
  private static var names: Set<String> {
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
