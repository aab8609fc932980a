import NIOCore

/// The socket that clients connect to.
final class RTSPListening: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let server: RTSPServing

  init(_ server: RTSPServing) { self.server = server }

  func channelActive(context: ChannelHandlerContext) { server.began(on: context.channel) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is StopSending { server.stop(.stopped) }
  }
}
