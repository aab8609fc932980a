internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import RTPWire

/// A stream of packets behind their lengths at work, on its event loop.
final class FramedStream: ChannelInboundHandler, PacketStream {
  typealias InboundIn = ByteBuffer

  private let eventLoop: any EventLoop
  private let silence: Duration?
  private var sink: (any DatagramSink)?
  private var contents: StreamContents
  private var localAddress: String?
  private var phase = Phase.idle
  /// A pipe ends, but it never breaks.
  private var isPipe = false
  private var isHeld = false
  /// Whether the far end is through, behind what has not been delivered.
  private var hasEnded = false
  private var lastError: (any Error)?
  private var openedAt = Instant(nanoseconds: .min)
  private var timer: Scheduled<Void>?

  private enum Phase {
    case idle
    case connecting(TCPConnector.Attempts)
    case open(any Channel)
    case closed
  }

  private static let connectTime = Duration.seconds(10)
  /// Bytes to read at once.
  private static let readSize = 64 << 10

  init(
    _ contents: StreamContents, silence: Duration?, on eventLoop: any EventLoop,
    delivering sink: any DatagramSink
  ) {
    self.contents = contents
    self.silence = silence
    self.eventLoop = eventLoop
    self.sink = sink
  }

  var counters: TransportCounters {
    var counters = TransportCounters()
    counters.localAddress = localAddress
    contents.count(in: &counters)
    return counters
  }

  // MARK: - Opening

  /// Connects to a server; the future is kept when there is a connection.
  func connect(_ connector: TCPConnector) -> EventLoopFuture<Void> {
    let attempts = TCPConnector.Attempts()
    phase = .connecting(attempts)
    let timeout = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(Self.connectTime)) {
      attempts.abandon()
      self.lastError = FramedError.connectTimedOut(
        seconds: Int(Self.connectTime.components.seconds))
    }
    let stream = NIOLoopBound(self, eventLoop: eventLoop)
    return connector.connect(attempts) { _ in }
      .always { _ in timeout.cancel() }
      .flatMapThrowing { channel in try stream.value.opened(channel) }
      .flatMapErrorThrowing { throw stream.value.notOpened($0) }
  }

  /// Reads a named pipe; the future is kept when reading has begun, whether it has a writer or not.
  func read(fromPipeAt path: String) -> EventLoopFuture<Void> {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = unsafe String(cString: strerror(errno))
      return eventLoop.makeFailedFuture(
        notOpened(TransportError.fileUnreadable(path: path, reason: reason)))
    }
    defer { Glibc.close(descriptor) }
    return read(from: descriptor)
  }

  /// Reads a descriptor that stays its owner's; the future is kept when reading has begun.
  func read(from descriptor: CInt) -> EventLoopFuture<Void> {
    var status = stat()
    let kinds = [S_IFIFO, S_IFSOCK]
    guard unsafe fstat(descriptor, &status) == 0, kinds.contains(status.st_mode & S_IFMT) else {
      return eventLoop.makeFailedFuture(notOpened(FramedError.noInput))
    }
    isPipe = true
    let own = dup(descriptor)
    let stream = NIOLoopBound(self, eventLoop: eventLoop)
    return NIOPipeBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize)
      )
      .takingOwnershipOfDescriptor(input: own)
      .flatMapThrowing { channel in try stream.value.opened(channel) }
      .flatMapErrorThrowing { throw stream.value.notOpened($0) }
  }

  private func opened(_ channel: any Channel) throws {
    guard sink != nil else {
      channel.close(promise: nil)
      throw TransportError.closed
    }
    localAddress = channel.localAddress?.endpoint
    phase = .open(channel)
    openedAt = Self.now
    try channel.pipeline.syncOperations.addHandler(self)
    if !isPipe { tellEndFromBreak(channel) }
    // Nothing was read until now, so nothing was missed.
    channel.setOption(.autoRead, value: true).assumeIsolated().whenFailure {
      self.end(.failed($0))
    }
    watch()
  }

  /// The reason why nothing was opened; the sink hears nothing then.
  private func notOpened(_ error: any Error) -> any Error {
    let wasClosed = sink == nil
    sink = nil
    timer?.cancel()
    phase = .closed
    return wasClosed ? TransportError.closed : lastError ?? error
  }

  func close() { end(.closed) }

  /// Tells of the end, once, and lets nothing come after it.
  private func end(_ end: TransportEnd) {
    guard let sink else { return }
    self.sink = nil
    timer?.cancel()
    switch phase {
    // Whoever opens it is told.
    case .idle, .connecting:
      if case .connecting(let attempts) = phase { attempts.abandon() }
    case .open(let channel):
      channel.close(promise: nil)
      sink.transportEnded(end)
    case .closed: break
    }
    phase = .closed
  }

  // MARK: - Reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    contents.append(unwrapInboundIn(data), at: Self.now)
    deliver()
  }

  /// Has the far end wait, by leaving what it sends where it is.
  func holdReading(_ isHeld: Bool) {
    guard case .open(let channel) = phase, isHeld != self.isHeld else { return }
    self.isHeld = isHeld
    if !isHeld {
      // The silence was this side's.
      openedAt = Self.now
      watch()
      // Not from within the sink that this is called by.
      eventLoop.assumeIsolated().execute { self.deliver() }
    }
    channel.setOption(.autoRead, value: !isHeld).assumeIsolated().whenFailure {
      // Of a channel whose far end is through, the rest is delivered all the same.
      if !self.hasEnded { self.end(.failed($0)) }
    }
  }

  private func deliver() {
    do {
      while let sink, !isHeld, let event = try contents.next() {
        switch event {
        case .described(let media): sink.describe(media)
        case .packet(let datagram): sink.receive(datagram)
        case .readCompleted(let arrival): sink.readCompleted(at: arrival)
        }
      }
    } catch {
      return end(.failed(error))
    }
    guard hasEnded, !isHeld else { return }
    end(lastError.map { .failed($0) } ?? contents.end)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    lastError = lastError ?? FramedError.connectionClosed
    context.close(promise: nil)
  }

  /// SwiftNIO tells a connection that was reset from one that was closed only where the closing of
  /// one direction is told by itself.
  private func tellEndFromBreak(_ channel: any Channel) {
    channel.setOption(.allowRemoteHalfClosure, value: true).assumeIsolated().whenFailure {
      self.end(.failed($0))
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed? = event as? ChannelEvent {
      noteEnd()
      deliver()
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if !hasEnded, !isPipe { lastError = lastError ?? FramedError.connectionClosed }
    noteEnd()
    deliver()
  }

  private func noteEnd() {
    guard !hasEnded else { return }
    hasEnded = true
    contents.finish()
  }

  // MARK: - Time

  /// Looks again when the deadline of now is over; packets move it, and no timer with it.
  private func watch() {
    timer?.cancel()
    timer = nil
    guard let silence, sink != nil, !isHeld else { return }
    let now = Self.now
    let start = max(contents.lastPacket ?? openedAt, openedAt)
    let seconds = Int(silence.components.seconds)
    let left = now.nanoseconds(to: start.advanced(by: silence))
    guard left > 0 else {
      let isNew = contents.lastPacket == nil
      return end(
        .failed(
          isNew ? FramedError.noMedia(seconds: seconds) : .mediaStopped(seconds: seconds)))
    }
    timer = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(left)) { self.watch() }
  }

  private static var now: Instant { Instant(NIODeadline.now()) }
}
