internal import NIOCore
internal import NIOTLS

/// What RTSP in HTTP sends: the body of a POST, in base64.
///
/// Its connection is opened by the first bytes, and again by later ones if the server or a proxy
/// has closed it, as QuickTime allows.
final class HTTPTunnelUpload {
  /// TLS of this connection too.
  struct Secrecy: Sendable {
    let context: TLSContext
    /// The server's name.
    let host: String
  }

  private enum Phase {
    case idle
    case connecting(TCPConnector.Attempts)
    case handshaking(any Channel)
    case open(any Channel)
    case closed
  }

  /// Called once the server cannot be told anything any more.
  var onFailure: ((any Error) -> Void)?

  private let head: ByteBuffer
  private let connector: TCPConnector
  private let tls: Secrecy?
  private var phase = Phase.idle
  /// What was written and has not left, in base64.
  private var unsent = ByteBuffer()
  private var promises: [EventLoopPromise<Void>] = []

  /// What is written follows on `head`.
  init(_ head: ByteBuffer, _ connector: TCPConnector, _ tls: Secrecy?) {
    self.head = head
    self.connector = connector
    self.tls = tls
  }

  var isWritable: Bool {
    guard unsent.readableBytes < Self.mostUnsent else { return false }
    switch phase {
    case .idle, .connecting, .handshaking: return true
    case .open(let channel): return channel.isWritable
    case .closed: return false
    }
  }

  /// Each call is a text by itself, whose padding servers understand.
  func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
    if case .closed = phase { return promise?.fail(ChannelError.ioOnClosedChannel) ?? () }
    unsent.writeBytes(bytes.readableBytesView.base64)
    if let promise { promises.append(promise) }
  }

  func flush() {
    switch phase {
    case .idle:
      if unsent.readableBytes > 0 { connect() } else { settle { $0.succeed() } }
    case .open(let channel): send(on: channel)
    case .connecting, .handshaking, .closed: break
    }
  }

  private func send(on channel: any Channel) {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    for each in promises { promise.futureResult.cascade(to: each) }
    promises = []
    channel.writeAndFlush(unsent, promise: promise)
    unsent = ByteBuffer()
  }

  private func connect() {
    let attempts = TCPConnector.Attempts()
    phase = .connecting(attempts)
    connector.connect(attempts) { [tls] channel in
      guard let tls else { return }
      try channel.pipeline.syncOperations.addHandler(TLSLayer(tls.context, host: tls.host))
    }.assumeIsolated().whenComplete { result in
      switch result {
      case .success(let channel): self.connected(channel)
      case .failure(let error): self.fail(error)
      }
    }
  }

  private func connected(_ channel: any Channel) {
    guard case .connecting = phase else { return channel.close(promise: nil) }
    do {
      try channel.pipeline.syncOperations.addHandler(HTTPTunnelUploadAnswer(to: self))
    } catch { return fail(error) }
    phase = .handshaking(channel)
    if tls == nil { encrypted() }
    _ = channel.setOption(.autoRead, value: true)
  }

  /// What encrypts the connection, if anything, has done its part.
  fileprivate func encrypted() {
    guard case .handshaking(let channel) = phase else { return }
    phase = .open(channel)
    // In a record of its own: GStreamer's server does not see what is behind it in the same one.
    channel.writeAndFlush(head, promise: nil)
    send(on: channel)
  }

  /// The connection has ended without an error.
  fileprivate func ended() {
    switch phase {
    case .handshaking: fail(TLSError.closedInHandshake)
    case .open: phase = .idle
    case .idle, .connecting, .closed: break
    }
  }

  fileprivate func fail(_ error: any Error) {
    let tell = onFailure
    close()
    tell?(error)
  }

  /// Nothing more is sent.
  func close() {
    switch phase {
    case .connecting(let attempts): attempts.abandon()
    case .handshaking(let channel), .open(let channel): channel.close(promise: nil)
    case .idle, .closed: break
    }
    phase = .closed
    onFailure = nil
    settle { $0.fail(ChannelError.ioOnClosedChannel) }
  }

  private func settle(_ how: (EventLoopPromise<Void>) -> Void) {
    let settled = promises
    promises = []
    for promise in settled { how(promise) }
  }

  /// Receiver reports of this length would be those of minutes.
  private static let mostUnsent = 64 << 10
}

/// Reads the answer to the POST, which few servers give.
private final class HTTPTunnelUploadAnswer: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let upload: HTTPTunnelUpload
  private var reader: RTSPMessageReader? = RTSPMessageReader(.httpHead)
  private var unread = ByteBuffer()

  init(to upload: HTTPTunnelUpload) { self.upload = upload }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard var reader else { return }
    unread.writeImmutableBuffer(unwrapInboundIn(data))
    do throws(RTSPError) {
      let outcome = try reader.read(from: &unread)
      self.reader = reader
      switch outcome {
      case .message(.response(let response)) where response.status >= 300:
        upload.fail(response.refusal(of: "POST"))
      case .incomplete: break
      // Whatever else it says, it does not refuse.
      case .message, .invalid: self.reader = nil
      }
    } catch { upload.fail(error) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { upload.encrypted() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A reset is an end like others.
    if error is TLSError { upload.fail(error) }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) { upload.ended() }
}
