import BlockingIO
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import RTPWire

/// Receives a stream of length-prefixed packets, on its event loop.
final class FramedReceiver: ChannelInboundHandler, PacketReceiver {
  typealias InboundIn = ByteBuffer

  private let eventLoop: any EventLoop
  private let silence: Duration?
  private var sink: (any DatagramSink)?
  private var contents: StreamContents
  private var localAddress: String?
  private var phase = Phase.idle
  /// Whether the source is a pipe, which can end but never break.
  private var isPipe = false
  private var isHeld = false
  /// Whether the far end has finished; packets may still be waiting for delivery.
  private var hasEnded = false
  private var lastError: (any Error)?
  private var openedAt = Instant(nanoseconds: .min)
  private var alarm = Alarm()

  private enum Phase {
    case idle
    case connecting(TCPConnector.Attempts)
    case open(any Channel)
    case closed
  }

  private static let connectTime = Duration.seconds(10)
  /// Bytes per read.
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

  /// Connects to a server; the future succeeds once connected.
  func connect(_ connector: TCPConnector) -> EventLoopFuture<Void> {
    let attempts = TCPConnector.Attempts()
    phase = .connecting(attempts)
    let timeout = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(Self.connectTime)) {
      attempts.abandon()
      self.lastError = FramedError.connectTimedOut(
        seconds: Int(Self.connectTime.components.seconds))
    }
    let receiver = NIOLoopBound(self, eventLoop: eventLoop)
    return connector.connect(attempts) { _ in }
      .always { _ in timeout.cancel() }
      .flatMapThrowing { channel in try receiver.value.opened(channel) }
      .flatMapErrorThrowing { throw receiver.value.notOpened($0) }
  }

  /// Reads a named pipe; the future succeeds once reading has begun, even without a writer.
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

  /// Reads a descriptor, which its owner keeps; the future succeeds once reading has begun.
  func read(from descriptor: CInt) -> EventLoopFuture<Void> {
    var status = stat()
    let kinds = [S_IFIFO, S_IFSOCK]
    guard unsafe fstat(descriptor, &status) == 0, kinds.contains(status.st_mode & S_IFMT) else {
      return eventLoop.makeFailedFuture(notOpened(FramedError.noInput))
    }
    let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else {
      let reason = unsafe String(cString: strerror(errno))
      return eventLoop.makeFailedFuture(
        notOpened(TransportError.system(operation: "read the pipe", reason: reason)))
    }
    isPipe = true
    let receiver = NIOLoopBound(self, eventLoop: eventLoop)
    return NIOPipeBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize)
      )
      .takingOwnershipOfDescriptor(input: own)
      .flatMapErrorThrowing { error in
        // It is SwiftNIO's only where it has a channel.
        Glibc.close(own)
        throw error
      }
      .flatMapThrowing { channel in try receiver.value.opened(channel) }
      .flatMapErrorThrowing { throw receiver.value.notOpened($0) }
  }

  private func opened(_ channel: any Channel) throws {
    guard sink != nil else {
      channel.close(promise: nil)
      throw TransportError.closed
    }
    if !isPipe { localAddress = channel.localAddress?.endpoint }
    phase = .open(channel)
    openedAt = Instant.now
    try channel.pipeline.syncOperations.addHandler(self)
    if !isPipe { tellEndFromBreak(channel) }
    // Reading starts only here, so no bytes were missed.
    channel.setOption(.autoRead, value: true).assumeIsolated().whenFailure {
      self.end(.failed($0))
    }
    watch()
  }

  /// Cleans up after a failed opening and returns the error; the sink is not notified.
  private func notOpened(_ error: any Error) -> any Error {
    let wasClosed = sink == nil
    sink = nil
    alarm.cancel()
    phase = .closed
    return wasClosed ? TransportError.closed : lastError ?? error
  }

  func close() { end(.closed) }

  /// Reports the end, once; nothing is delivered after it.
  private func end(_ end: TransportEnd) {
    guard let sink else { return }
    self.sink = nil
    alarm.cancel()
    switch phase {
    // The caller of the opening is told.
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
    contents.append(unwrapInboundIn(data), at: Instant.now)
    deliver()
  }

  /// Makes the far end wait, by not reading from it.
  func holdReading(_ isHeld: Bool) {
    guard case .open(let channel) = phase, isHeld != self.isHeld else { return }
    self.isHeld = isHeld
    if !isHeld {
      // This side caused the silence, so it does not count.
      openedAt = Instant.now
      watch()
      // The sink may be the caller, so it must not be called from here.
      eventLoop.assumeIsolated().execute { self.deliver() }
    }
    channel.setOption(.autoRead, value: !isHeld).assumeIsolated().whenFailure {
      // If the far end has finished, the rest is still delivered.
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

  /// Makes SwiftNIO report a reset and an orderly close differently, which it does only with
  /// half-closure enabled.
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

  /// Ends a stream that has been silent for too long, and otherwise looks again when it could be.
  private func watch() {
    guard let silence, sink != nil, !isHeld else { return alarm.cancel() }
    let start = max(contents.lastPacket ?? openedAt, openedAt)
    let deadline = start.advanced(by: silence)
    guard deadline > Instant.now else {
      let seconds = Int(silence.components.seconds)
      let isNew = contents.lastPacket == nil
      return end(
        .failed(
          isNew ? FramedError.noMedia(seconds: seconds) : .mediaStopped(seconds: seconds)))
    }
    alarm.set(for: deadline, on: eventLoop) {
      self.alarm.rang()
      self.watch()
    }
  }
}
