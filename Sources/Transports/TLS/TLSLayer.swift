package import NIOCore
internal import NIOTLS

/// Encrypts a connection: the handler next to its socket.
///
/// The end of the handshake is told as `TLSUserEvent.handshakeCompleted`, what goes wrong as a
/// ``TLSError``, after which the connection is closed.
package final class TLSLayer: ChannelDuplexHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum Phase {
    case waiting
    case handshaking
    case open
    /// The far end is to close TLS too, so that nothing sent is lost by a reset.
    case closing(Scheduled<Void>, EventLoopPromise<Void>?)
    case closed
  }

  let session: TLSSession
  /// The server's name; empty on the server's side.
  private let host: String
  private var phase = Phase.waiting
  /// What was written and not yet encrypted.
  private var plain = ByteBuffer()
  private var promises: [EventLoopPromise<Void>] = []
  private var isFlushWanted = false

  /// The side of a client of `host`; without one, that of a server.
  ///
  /// - Throws: ``TLSError/handshakeFailed(reason:)``.
  package init(_ context: TLSContext, host: String? = nil) throws(TLSError) {
    session = try TLSSession(context, host.map { .client(of: $0) } ?? .server)
    self.host = host ?? ""
  }

  package func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { begin(context) }
  }

  package func handlerRemoved(context: ChannelHandlerContext) { abandon() }

  package func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  package func channelInactive(context: ChannelHandlerContext) {
    abandon()
    context.fireChannelInactive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard case .waiting = phase else { return }
    phase = .handshaking
    advance(context)
  }

  /// Fails what waits for a connection that is no more.
  private func abandon() {
    if case .closing(let timeout, let promise) = phase {
      timeout.cancel()
      promise?.succeed()
    }
    phase = .closed
    plain = ByteBuffer()
    let promises = promises
    self.promises = []
    for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
  }

  // MARK: From the far end

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .closed = phase { return }
    do throws(TLSError) {
      try session.receive(unwrapInboundIn(data))
    } catch { return fail(error, context) }
    advance(context)
  }

  private func advance(_ context: ChannelHandlerContext) {
    do throws(TLSSession.Fault) {
      if case .handshaking = phase {
        if let pause = try session.handshake() {
          sendOutput(context)
          if case .closed = pause { close(context: context, mode: .all, promise: nil) }
          return context.read()
        }
        phase = .open
        sendOutput(context)
        context.fireUserInboundEventTriggered(
          TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        if isFlushWanted { flush(context: context) }
      }
      if case .closed = try read(context) { hasClosed(context) }
    } catch {
      fail(TLSError(error, host: host), context)
    }
  }

  /// Passes on what has come, also before an error.
  private func read(_ context: ChannelHandlerContext) throws(TLSSession.Fault) -> TLSSession.Pause {
    var bytes = ByteBuffer()
    defer {
      sendOutput(context)
      if bytes.readableBytes > 0, case .open = phase {
        context.fireChannelRead(wrapInboundOut(bytes))
      }
    }
    return try session.read(into: &bytes)
  }

  /// Answers a far end that has closed TLS with the same.
  private func hasClosed(_ context: ChannelHandlerContext) {
    switch phase {
    case .open:
      session.sayGoodbye()
      sendOutput(context)
      context.close(promise: nil)
    case .closing: context.close(promise: nil)
    case .waiting, .handshaking, .closed: break
    }
  }

  private func fail(_ error: TLSError, _ context: ChannelHandlerContext) {
    // The alert, which tells the far end why.
    sendOutput(context)
    abandon()
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  // MARK: To the far end

  package func write(
    context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    switch phase {
    case .waiting, .handshaking, .open: break
    case .closing, .closed: return promise?.fail(ChannelError.ioOnClosedChannel) ?? ()
    }
    var bytes = unwrapOutboundIn(data)
    // Small writes leave in one record.
    if plain.readableBytes == 0 { plain = bytes } else { plain.writeBuffer(&bytes) }
    if let promise { promises.append(promise) }
  }

  package func flush(context: ChannelHandlerContext) {
    guard case .open = phase else { return isFlushWanted = true }
    isFlushWanted = false
    let (bytes, promises) = (plain, promises)
    (plain, self.promises) = (ByteBuffer(), [])
    do throws(TLSSession.Fault) {
      try session.write(bytes)
    } catch {
      for promise in promises { promise.fail(TLSError(error, host: host)) }
      return fail(TLSError(error, host: host), context)
    }
    var written: EventLoopPromise<Void>?
    if !promises.isEmpty {
      let promise = context.eventLoop.makePromise(of: Void.self)
      for each in promises { promise.futureResult.cascade(to: each) }
      written = promise
    }
    // An empty write has a promise that is to be kept after those before it.
    let output = session.takeOutput(context.channel.allocator) ?? ByteBuffer()
    context.writeAndFlush(wrapOutboundOut(output), promise: written)
  }

  private func sendOutput(_ context: ChannelHandlerContext) {
    guard let output = session.takeOutput(context.channel.allocator) else { return }
    context.writeAndFlush(wrapOutboundOut(output), promise: nil)
  }

  package func close(
    context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
  ) {
    guard mode == .all, case .open = phase else {
      return context.close(mode: mode, promise: promise)
    }
    session.sayGoodbye()
    let bound = context.loopBound
    let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeDeadline) {
      bound.value.close(promise: nil)
    }
    phase = .closing(timeout, promise)
    sendOutput(context)
    context.read()
  }

  /// The longest that a far end that does not close TLS may keep the descriptor.
  private static let closeDeadline = TimeAmount.seconds(1)
}
