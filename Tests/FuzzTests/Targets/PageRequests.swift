import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOWebSocket

@testable import Serving

extension FuzzTarget {
  /// What browsers and others send to the page's server, however it is cut, and who may ask for
  /// what.
  static let pageRequest = FuzzTarget("page-http") { choices in
    let (whole, reads) = choices.reads()
    let heads = try requestHeads(of: reads)
    // Of a longer one, only what comes before the limit is read.
    if whole.count <= RequestBound.longest {
      try requireEqual(heads, try requestHeads(of: [whole]), "\(reads.map(\.count))")
    }

    let token = AccessToken("0123456789abcdef")
    let secret = AccessRules(names: ["camera-host"], token: token, port: 9800)
    let open = AccessRules(names: ["camera-host"], token: nil, port: 9800)
    var routes = Routes()
    routes.add("/metrics") { _ in .notFound }
    routes.add(from: "/snapshot/", to: ".jpg") { name, _ in
      precondition(!name.contains("/") && !name.contains("."), "a name that leads elsewhere")
      return .notFound
    }
    for head in heads {
      _ = routes.answering(Request(head))
      if open.decide(on: head) == .allowed {
        try require(head.method == .GET || head.method == .HEAD, "\(head.method)")
        try requireEqual(head.headers["host"].count, 1)
      }
      switch secret.decide(on: head) {
      case .refused: break
      case .allowed, .keepsToken:
        // Without the secret nobody comes in.
        let fields = head.headers.map { $0.value }.joined(separator: "\n") + head.uri
        try require(fields.contains("0123456789abcdef"), "\(head) comes in")
      }
      if case .keepsToken(_, let path) = secret.decide(on: head) {
        try require(path.hasPrefix("/") && !path.hasPrefix("//"), "\(path) leads elsewhere")
        try require(!path.utf8.contains { $0 <= 0x20 }, "\(path) breaks a header")
      }
    }
  }

  private static func requestHeads(of reads: [[UInt8]]) throws -> [HTTPRequestHead] {
    let channel = EmbeddedChannel()
    let collector = HeadCollector()
    try channel.pipeline.syncOperations.addHandler(RequestBound(Connections()))
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
    try channel.pipeline.syncOperations.addHandler(collector)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    for read in reads where channel.isActive {
      _ = try? channel.writeInbound(ByteBuffer(sliceOf: read))
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return collector.heads
  }

  /// The frames of a page's WebSocket, and the commands in them (RFC 6455), however they are cut.
  static let webSocket = FuzzTarget("page-websocket") { choices in
    let (whole, reads) = choices.reads()
    let expected = commands([whole])
    try requireEqual(commands(reads), expected, "\(reads.map(\.count))")
    for command in expected {
      switch command {
      case .watch(let name, _)?, .stop(let name)?, .listen(let name)?:
        try require(name.utf8.count <= ViewerCommand.longest, "\(name)")
      case .mute?, nil: break
      }
    }
  }

  private static func commands(_ reads: [[UInt8]]) -> [ViewerCommand?] {
    let channel = EmbeddedChannel(
      handler: ByteToMessageHandler(
        WebSocketFrameDecoder(maxFrameSize: ViewerSocket.longestFrame)))
    var commands: [ViewerCommand?] = []
    for read in reads {
      do {
        try channel.writeInbound(ByteBuffer(sliceOf: read))
        while let frame = try channel.readInbound(as: WebSocketFrame.self) {
          guard frame.opcode == .text else { continue }
          commands.append(ViewerCommand(String(buffer: frame.unmaskedData)))
        }
      } catch {
        while let frame = try? channel.readInbound(as: WebSocketFrame.self) {
          if frame.opcode == .text {
            commands.append(ViewerCommand(String(buffer: frame.unmaskedData)))
          }
        }
        break
      }
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return commands
  }
}

private final class HeadCollector: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private(set) var heads: [HTTPRequestHead] = []

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): heads.append(head)
    case .body: break
    case .end:
      let head = HTTPResponseHead(version: .http1_1, status: .ok)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
}
