import BlockingIO
import NIOCore
import NIOHTTP1
import RTPWire

/// A client's connection to an HTTP server that sends RTP packets.
final class HTTPClientSession: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let server: HTTPServing
  private let loop: NIOIsolatedEventLoop
  private var run: StreamRun?
  private var timer: Scheduled<Void>?
  /// Ends a client that asks for nothing, or takes nothing.
  private var impatience: Scheduled<Void>?
  /// Whether the socket has taken anything since it was full.
  private var hasTaken = false
  private var hasEnded = false
  /// What the server hears of the client when it has had all, or has gone.
  private var departure: (report: SendReport, ending: SendReport.Ending)?

  /// The most bytes in one chunk.
  private static let chunkSize = 64 << 10
  /// How long a request may take.
  private static let requestTime = TimeAmount.seconds(10)
  /// How long a client may take nothing; as long as one of RTSP.
  private static let stallTime = TimeAmount.seconds(65)

  init(_ server: HTTPServing, on loop: any EventLoop) {
    self.server = server
    self.loop = loop.assumeIsolated()
  }

  func channelActive(context: ChannelHandlerContext) {
    guard server.admit(context.channel) else {
      hasEnded = true
      return context.close(promise: nil)
    }
    impatience = loop.scheduleTask(in: Self.requestTime) { context.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let request) = unwrapInboundIn(data), run == nil, !hasEnded else { return }
    impatience?.cancel()
    guard request.method == .GET || request.method == .HEAD else {
      return refuse(request, .methodNotAllowed, ["Allow": "GET, HEAD"], context)
    }
    if request.method == .GET {
      do {
        run = try StreamRun(server.nextRun(), unixNanoseconds: { UTC.now }) { .now }
      } catch {
        server.failed(error, for: context.channel)
        return refuse(request, .serviceUnavailable, ["Retry-After": "5"], context)
      }
    }
    let head = HTTPResponseHead(
      version: request.version, status: .ok,
      headers: ["Content-Type": "video/rtp", "Cache-Control": "no-store", "Connection": "close"])
    context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    guard run != nil else { return close(context) }
    server.arrived(context.channel)
    run?.notify(SourceReady.event(for: context.channel))
    // Whatever came before there was anybody to notify.
    goOn(context)
  }

  /// Takes what the source has again, and sends it.
  private func goOn(_ context: ChannelHandlerContext) {
    guard !hasEnded, run != nil else { return }
    do {
      try run?.prepare()
      tick(context)
    } catch {
      server.failed(error, for: context.channel)
      end(.stopped, context)
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard run != nil else { return }
    impatience?.cancel()
    if context.channel.isWritable { return tick(context) }
    awaitSocket(context)
  }

  /// A client that takes nothing for long has left without a word; one on a slow line takes some.
  private func awaitSocket(_ context: ChannelHandlerContext) {
    hasTaken = false
    impatience = loop.scheduleTask(in: Self.stallTime) {
      if self.hasTaken { return self.awaitSocket(context) }
      self.end(.clientLeft, context)
      context.close(promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(.clientLeft, context)
    leave(context)
    server.disconnected(context.channel)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A malformed request, or a client that reset the connection.
    context.close(promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case is StopSending:
      end(.stopped, context)
      // Perhaps it had ended, and had more time.
      limitFarewell(to: Farewell.longest(after: .stopped), context)
    case is SourceReady: goOn(context)
    default: break
    }
  }

  private func refuse(
    _ request: HTTPRequestHead, _ status: HTTPResponseStatus, _ headers: HTTPHeaders,
    _ context: ChannelHandlerContext
  ) {
    var head = HTTPResponseHead(version: request.version, status: status, headers: headers)
    head.headers.add(name: "Content-Length", value: "0")
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    close(context)
  }

  /// Sends what is due, prepares what is next, and schedules the next call.
  private func tick(_ context: ChannelHandlerContext) {
    // A call that comes though it was cancelled must not cancel the limit of the farewell.
    guard !hasEnded else { return }
    timer?.cancel()
    timer = nil
    guard run != nil, context.channel.isWritable else { return }
    let now = Instant.now
    var chunk = ByteBuffer()
    while let packet = run?.next(at: now)?.bytes {
      append(packet, to: &chunk)
      if chunk.readableBytes >= Self.chunkSize { send(&chunk, context) }
    }
    send(&chunk, context)
    context.flush()
    server.configuration.tellVerdicts(of: &run)
    do {
      try run?.prepare()
    } catch {
      server.failed(error, for: context.channel)
      return end(.stopped, context)
    }
    if run?.isFinished == true { return end(.sourceEnded, context) }
    guard let next = run?.deadline else { return }
    let due = NIODeadline.uptimeNanoseconds(UInt64(clamping: next.nanoseconds))
    let deadline = server.turns.deadline(for: due, at: .now())
    timer = loop.scheduleTask(deadline: deadline) { self.tick(context) }
  }

  private func append(_ packet: ByteBuffer, to chunk: inout ByteBuffer) {
    chunk.writeInteger(UInt32(clamping: packet.readableBytes))
    chunk.writeImmutableBuffer(packet)
  }

  private func send(_ chunk: inout ByteBuffer, _ context: ChannelHandlerContext) {
    guard chunk.readableBytes > 0 else { return }
    context.write(wrapOutboundOut(.body(.byteBuffer(chunk)))).assumeIsolated()
      .whenSuccess { self.hasTaken = true }
    chunk = ByteBuffer()
  }

  private func end(_ ending: SendReport.Ending, _ context: ChannelHandlerContext) {
    guard !hasEnded else { return }
    hasEnded = true
    timer?.cancel()
    impatience?.cancel()
    if ending != .clientLeft {
      var chunk = ByteBuffer()
      for packet in run?.goodbye(at: Instant.now) ?? [] { append(packet.bytes, to: &chunk) }
      send(&chunk, context)
    }
    server.configuration.tellVerdicts(of: &run)
    departure = (report: run?.report(at: Instant.now) ?? SendReport(), ending: ending)
    run = nil
    limitFarewell(to: Farewell.longest(after: ending), context)
    close(context)
  }

  /// Closes when the last chunk has left: the program may end then.
  private func close(_ context: ChannelHandlerContext) {
    hasEnded = true
    guard context.channel.isActive else { return leave(context) }
    context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { result in
      // A client that has not had all has gone before the end.
      if case .failure = result, self.departure?.ending == .sourceEnded {
        self.departure?.ending = .clientLeft
      }
      context.close(promise: nil)
      self.leave(context)
    }
  }

  private func limitFarewell(to time: TimeAmount, _ context: ChannelHandlerContext) {
    guard departure != nil else { return }
    timer?.cancel()
    timer = loop.scheduleTask(in: time) {
      context.close(promise: nil)
      self.leave(context)
    }
  }

  private func leave(_ context: ChannelHandlerContext) {
    timer?.cancel()
    guard let departure = departure.take() else { return }
    server.left(context.channel, with: departure.report, after: departure.ending)
  }
}
