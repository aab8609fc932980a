import NIOCore
import NIOHTTP1
import NIOWebSocket
import Receiver

/// Answers the requests of a connection, one after another.
final class RequestExchange: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// So much of an answer shows that the client takes it.
  private static let part = 64 << 10

  private let rules: AccessRules
  private let routes: Routes
  private let bound: RequestBound
  private let tasks: TaskQueue
  private var head: HTTPRequestHead?

  init(rules: AccessRules, routes: Routes, bound: RequestBound, tasks: TaskQueue) {
    (self.rules, self.routes, self.bound, self.tasks) = (rules, routes, bound, tasks)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    // Nobody has anything to send here.
    case .body: break
    case .end:
      guard let head else { return }
      self.head = nil
      bound.noteRequest(context)
      answer(head, context)
    }
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let decision = rules.decide(on: head)
    guard decision == .allowed else { return write(Answer(to: decision), to: head, context) }
    guard let answering = routes.answering(Request(head)) else {
      return write(.notFound, to: head, context)
    }
    let bounds = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let loop = context.eventLoop
    Task(executorPreference: tasks) {
      let answer = await answering()
      loop.execute {
        let (handler, context) = bounds.value
        guard context.channel.isActive else { return }
        handler.write(answer, to: head, context)
      }
    }
  }

  private func write(
    _ answer: Answer, to head: HTTPRequestHead, _ context: ChannelHandlerContext
  ) {
    var response = answer.head
    if !head.isKeepAlive { response.headers.add(name: "Connection", value: "close") }
    let bounds = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    bound.noteProgress(context)
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    var rest = head.method == .HEAD ? ByteBuffer() : answer.body
    while let part = rest.readSlice(length: min(rest.readableBytes, Self.part)),
      part.readableBytes > 0
    {
      context.write(wrapOutboundOut(.body(.byteBuffer(part)))).assumeIsolated().whenSuccess {
        let (handler, context) = bounds.value
        handler.bound.noteProgress(context)
      }
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
      let (handler, context) = bounds.value
      guard head.isKeepAlive else { return context.close(promise: nil) }
      handler.bound.noteAnswered(context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The answer says why there is no WebSocket.
    if !(error is NIOWebSocketUpgradeError) { context.close(promise: nil) }
  }
}
