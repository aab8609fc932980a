import NIOCore

/// A socket that takes nothing: what is written waits until it is closed, or taken by a test.
final class FullSocket: ChannelOutboundHandler {
  typealias OutboundIn = Any

  private var waiting: [EventLoopPromise<Void>] = []

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if let promise { waiting.append(promise) }
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    for write in waiting { write.fail(ChannelError.ioOnClosedChannel) }
    waiting = []
    context.close(mode: mode, promise: promise)
  }

  /// Takes all that waits.
  func takeAll() {
    for write in waiting { write.succeed() }
    waiting = []
  }
}
