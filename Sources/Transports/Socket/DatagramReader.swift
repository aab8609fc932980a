public import NIOCore
internal import NIOPosix
public import RTPWire

/// Reads a socket through SwiftNIO: many datagrams a call, at most as often as is worth it.
///
/// SwiftNIO gets a descriptor of its own, so that reading can be paused without losing the port or
/// what waits in the kernel's buffer. All calls come and go on the event loop.
final class DatagramReader: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  /// What is to be done with what was read; all three are called on the event loop.
  struct Delivery {
    var datagram: (Datagram, SocketAddress) -> Void
    var readCompleted: (Instant) -> Void
    /// SwiftNIO has given the channel up, although nobody paused the reader.
    var failed: (any Error) -> Void
  }

  private let socket: DatagramSocket
  private let kind: Datagram.Channel
  private let eventLoop: any EventLoop
  private var delivery: Delivery?
  private var channel: (any Channel)?
  private var pacer = ReadPacer()
  private var inRead = 0
  private var arrival = Instant(nanoseconds: 0)
  private var lastError: (any Error)?

  init(
    _ socket: DatagramSocket, as kind: Datagram.Channel, on eventLoop: any EventLoop,
    delivering delivery: Delivery
  ) {
    self.socket = socket
    self.kind = kind
    self.eventLoop = eventLoop
    self.delivery = delivery
  }

  /// Begins to read, or goes on after ``pause()``.
  func start() -> EventLoopFuture<Void> {
    let descriptor: CInt
    do { descriptor = try socket.duplicate() } catch {
      return eventLoop.makeFailedFuture(error)
    }
    let this = NIOLoopBound(self, eventLoop: eventLoop)
    return DatagramBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(.datagramVectorReadMessageCount, value: Self.datagramsPerRead)
      .channelOption(
        .recvAllocator,
        value: FixedSizeRecvByteBufferAllocator(
          capacity: Self.datagramsPerRead * Self.datagramCapacity)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(this.value)
        }
      }
      .withBoundSocket(descriptor)
      .map { channel in
        let reader = this.value
        guard reader.delivery != nil else { return channel.close(promise: nil) }
        reader.channel = channel
        channel.read()
      }
  }

  /// Stops reading; what arrives from now on waits in the kernel.
  func pause() {
    let channel = self.channel
    self.channel = nil
    channel?.close(promise: nil)
  }

  /// Stops reading for good and lets go of whom it delivered to.
  func stop() {
    delivery = nil
    pause()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    // One reading of the clock serves the whole read: its datagrams were there before it returned.
    if inRead == 0 { arrival = Instant(NIODeadline.now()) }
    inRead += 1
    delivery?.datagram(
      Datagram(
        bytes: envelope.data, arrival: arrival, channel: kind, origin: envelope.remoteAddress),
      envelope.remoteAddress)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    let count = inRead
    inRead = 0
    if count > 0 { delivery?.readCompleted(arrival) }
    guard channel != nil else { return }
    let delay = pacer.delay(
      afterReading: count, of: Self.datagramsPerRead, now: Instant(NIODeadline.now()))
    guard delay > 0 else { return context.read() }
    context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.channel?.read()
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { lastError = error }

  func channelInactive(context: ChannelHandlerContext) {
    guard channel != nil else { return }
    channel = nil
    delivery?.failed(lastError ?? ChannelError.eof)
  }

  /// Datagrams taken from the kernel by one call.
  ///
  /// More than arrive between spaced reads at 100,000 a second; a few hundred bytes of work each.
  static let datagramsPerRead = 64
  /// Bytes set aside for each, so that none is cut: UDP carries at most 65,527 (RFC 2675 aside).
  ///
  /// The storage is kept from read to read, and the kernel backs only the pages that are written.
  static let datagramCapacity = 65_536
}

extension Instant {
  /// The same point in time on SwiftNIO's monotonic clock, which all arrival times are read from.
  public init(_ deadline: NIODeadline) {
    self.init(nanoseconds: Int64(clamping: deadline.uptimeNanoseconds))
  }
}
