internal import NIOCore
internal import NIOTLS

/// RTSP in HTTP, for networks that let nothing else through: the handler between
/// ``RTSPConnection`` and the connection of the GET.
///
/// What comes behind the answer's head is RTSP. What is written leaves by the connection of the
/// POST. A server's `x-server-ip-address` is not followed: some name an address of their own
/// network, others 127.0.0.1.
final class HTTPTunnel: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The event that the server has answered the GET, so that RTSP may begin.
  struct Opened: Sendable {}

  /// The server wants a login; it closes the connection of the GET.
  struct Challenged: Error {
    let challenges: [AuthenticationChallenge]
  }

  private enum Phase {
    /// For the handshake of TLS.
    case waiting
    case asked(RTSPMessageReader, ByteBuffer)
    case open
    case failed
  }

  private let requests: HTTPTunnelRequests
  private let cookie: String
  private let isSecure: Bool
  private let upload: HTTPTunnelUpload
  private var phase = Phase.waiting

  /// A tunnel through `connector`, which leads to the machine that gets the GET.
  init(
    _ requests: HTTPTunnelRequests, _ connector: TCPConnector, _ tls: HTTPTunnelUpload.Secrecy?
  ) {
    self.requests = requests
    isSecure = tls != nil
    cookie = String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    upload = HTTPTunnelUpload(requests.post(cookie: cookie), connector, tls)
  }

  /// Whether what was written before has left.
  var isWritable: Bool { upload.isWritable }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = context.loopBound
    upload.onFailure = { self.fail($0, bound.value) }
    if !isSecure { ask(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { upload.close() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { ask(context) }
    context.fireUserInboundEventTriggered(event)
  }

  private func ask(_ context: ChannelHandlerContext) {
    guard case .waiting = phase else { return }
    phase = .asked(RTSPMessageReader(.httpHead), ByteBuffer())
    context.writeAndFlush(wrapOutboundOut(requests.get(cookie: cookie)), promise: nil)
  }

  // MARK: From the server

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch phase {
    case .open: context.fireChannelRead(data)
    case .asked(var reader, var unread):
      unread.writeImmutableBuffer(unwrapInboundIn(data))
      do throws(RTSPError) {
        switch try reader.read(from: &unread) {
        case .incomplete: phase = .asked(reader, unread)
        case .message(.response(let response)): take(response, rest: unread, context)
        case .message, .invalid: fail(RTSPError.notTunnelled, context)
        }
      } catch { fail(error, context) }
    case .waiting, .failed: break
    }
  }

  private func take(_ response: RTSPResponse, rest: ByteBuffer, _ context: ChannelHandlerContext) {
    let type = response.headers["Content-Type"]?.lowercased()
    switch response.status {
    // Without this type it is a web page.
    case 200 where type?.hasPrefix(HTTPTunnelRequests.contentType) ?? true:
      phase = .open
      context.fireUserInboundEventTriggered(Opened())
      if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
    case 401:
      let fields = response.headers.all("WWW-Authenticate")
      fail(Challenged(challenges: AuthenticationChallenge.parse(fields)), context)
    case 300...: fail(response.refusal(of: "GET"), context)
    default: fail(RTSPError.notTunnelled, context)
    }
  }

  private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
    if case .failed = phase { return }
    phase = .failed
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    upload.close()
    context.fireChannelInactive()
  }

  // MARK: To the server

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    upload.write(unwrapOutboundIn(data), promise)
  }

  func flush(context: ChannelHandlerContext) { upload.flush() }
}

extension RTSPResponse {
  /// The error that the server refuses a request of HTTP.
  func refusal(of method: String) -> RTSPError {
    .refused(method: method, status: status, reason: reason)
  }
}
