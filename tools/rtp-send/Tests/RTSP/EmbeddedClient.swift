import NIOCore
import NIOEmbedded

@testable import RTPSend

/// A client's connection in memory, and how often its bytes were asked for.
struct EmbeddedClient {
  let channel: EmbeddedChannel
  let connection: RTSPConnection
  let reads = Reads()

  final class Reads: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    var count = 0

    func read(context: ChannelHandlerContext) { count += 1 }
  }

  /// A server without streams.
  static func server(
    on loop: EmbeddedEventLoop, report promise: EventLoopPromise<SendReport>
  ) -> RTSPServing {
    RTSPServing(
      RTSPServerConfiguration(streams: [], host: "127.0.0.1", port: 0), on: loop,
      report: promise, onEvent: { _ in })
  }

  init(of server: RTSPServing, on loop: EmbeddedEventLoop) throws {
    connection = RTSPConnection(server, on: loop)
    channel = EmbeddedChannel(handlers: [reads, connection], loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 9)).wait()
  }

  func send(_ text: String) throws { _ = try channel.writeInbound(ByteBuffer(string: text)) }

  /// What it has been sent since the last call.
  func taken() throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let next = try channel.readOutbound(as: ByteBuffer.self) {
      bytes += Array(next.readableBytesView)
    }
    return bytes
  }

  /// Whether it takes what it is sent.
  var isTaking: Bool {
    get { channel.isWritable }
    nonmutating set {
      channel.isWritable = newValue
      channel.pipeline.fireChannelWritabilityChanged()
    }
  }
}
