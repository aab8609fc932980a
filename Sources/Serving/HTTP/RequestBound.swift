import NIOCore

/// Closes a connection that sends more than a request of this server needs, or takes too long for
/// it.
///
/// It stands before the parser, which would keep what it is sent.
final class RequestBound: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  /// Browsers send about 1 kB, and cookies of other programs on the same host.
  static let longest = 16 << 10
  /// How long a request may take to come, an idle connection may stay, and a client may take
  /// nothing of its answer.
  static let patience = TimeAmount.seconds(15)

  private var received = 0
  private var timer: Scheduled<Void>?
  private let connections: Connections

  init(_ connections: Connections) { self.connections = connections }

  func handlerAdded(context: ChannelHandlerContext) { beginWait(context) }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    // It is a WebSocket now, unless it is closed.
    if context.channel.isActive { connections.note(context.channel, isInUse: true) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received += unwrapInboundIn(data).readableBytes
    guard received <= Self.longest else { return context.close(promise: nil) }
    context.fireChannelRead(data)
  }

  /// Notes that a request has come; how long its answer takes is not the client's fault.
  func noteRequest(_ context: ChannelHandlerContext) {
    connections.note(context.channel, isInUse: true)
    timer?.cancel()
  }

  /// Notes that the answer begins, or that the client has taken a part of it.
  func noteProgress(_ context: ChannelHandlerContext) {
    if context.channel.isActive { beginWait(context) }
  }

  /// Notes that the client has the answer.
  func noteAnswered(_ context: ChannelHandlerContext) {
    // What comes behind a request belongs to the next one, and counts for it.
    received = 0
    connections.note(context.channel, isInUse: false)
    beginWait(context)
  }

  private func beginWait(_ context: ChannelHandlerContext) {
    timer?.cancel()
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
  }
}
