import BlockingIO
import NIOCore
import NIOWebSocket
import RTPWire

/// The WebSocket of a page that is open.
///
/// It writes only what the socket takes soon; the rest waits in the `Viewer`, where it is bounded.
final class ViewerSocket: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  /// So much of a picture shows that the browser takes it: a large one may take minutes.
  private static let part = 64 << 10
  /// Commands are short.
  static let longestFrame = 1 << 10
  /// Browsers answer by themselves, and take connections for dead that are silent for a minute
  /// (Chromium).
  private static let pingInterval = TimeAmount.seconds(20)
  /// How long a browser may take for what was written to its socket, and be silent.
  private static let patience = Duration.seconds(30)

  private let page: LivePage
  private var viewer: Viewer?
  private var pings: RepeatedTask?
  private var lastSign = Instant.now
  /// Since when the socket has taken nothing.
  private var fullSince: Instant?
  private var isClosing = false

  init(page: LivePage) { self.page = page }

  func handlerAdded(context: ChannelHandlerContext) {
    let bounds = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let loop = context.eventLoop
    let viewer = Viewer {
      loop.execute {
        let (handler, context) = bounds.value
        handler.write(context)
      }
    }
    self.viewer = viewer
    pings = loop.scheduleRepeatedTask(
      initialDelay: Self.pingInterval, delay: Self.pingInterval
    ) { _ in
      let (handler, context) = bounds.value
      handler.ping(context)
    }
    page.join(viewer)
  }

  func handlerRemoved(context: ChannelHandlerContext) { leave() }

  func channelInactive(context: ChannelHandlerContext) {
    leave()
    context.fireChannelInactive()
  }

  private func leave() {
    pings?.cancel()
    pings = nil
    if let viewer { page.leave(viewer) }
    viewer = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard !isClosing, let viewer else { return }
    lastSign = .now
    // RFC 6455 §5.1.
    guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
      return close(.protocolError, context)
    }
    switch frame.opcode {
    case .text where frame.fin:
      guard let command = ViewerCommand(String(buffer: frame.unmaskedData)) else {
        return close(.policyViolation, context)
      }
      page.perform(command, for: viewer)
    case .ping:
      // Pongs that nobody reads would gather without a bound.
      guard context.channel.isWritable else { return context.close(promise: nil) }
      let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .pong: break
    case .connectionClose: close(.normalClosure, context)
    default: close(.unacceptableData, context)
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    fullSince = context.channel.isWritable ? nil : .now
    if context.channel.isWritable { write(context) }
    context.fireChannelWritabilityChanged()
  }

  /// Writes what waits, as long as the socket takes it.
  private func write(_ context: ChannelHandlerContext) {
    guard let viewer, !isClosing else { return }
    var hasWritten = false
    while context.channel.isWritable, let message = viewer.next() {
      hasWritten = true
      switch message.encoded(at: .now) {
      case .text(let text):
        let frame = WebSocketFrame(fin: true, opcode: .text, data: text)
        context.write(wrapOutboundOut(frame), promise: nil)
      case .media(let head, let media):
        let first = WebSocketFrame(fin: false, opcode: .binary, data: head)
        context.write(wrapOutboundOut(first), promise: nil)
        write(media, context)
      }
    }
    if hasWritten { context.flush() }
  }

  private func write(_ media: ByteBuffer, _ context: ChannelHandlerContext) {
    var rest = media
    let bounds = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    while rest.readableBytes > Self.part, let part = rest.readSlice(length: Self.part) {
      let frame = WebSocketFrame(fin: false, opcode: .continuation, data: part)
      context.write(wrapOutboundOut(frame)).assumeIsolated().whenSuccess {
        bounds.value.0.noteProgress()
      }
    }
    let last = WebSocketFrame(fin: true, opcode: .continuation, data: rest)
    context.write(wrapOutboundOut(last), promise: nil)
  }

  /// A pong stands behind what the browser takes.
  private func noteProgress() {
    lastSign = .now
    if fullSince != nil { fullSince = lastSign }
  }

  private func ping(_ context: ChannelHandlerContext) {
    let now = Instant.now
    let isSilent = lastSign.duration(to: now) > Self.patience
    let isStuck = fullSince.map { $0.duration(to: now) > Self.patience } ?? false
    guard !isClosing, !isSilent, !isStuck else { return context.close(promise: nil) }
    let frame = WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }

  private func close(_ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
    isClosing = true
    leave()
    var data = ByteBuffer()
    data.write(webSocketErrorCode: code)
    let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    context.close(promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
