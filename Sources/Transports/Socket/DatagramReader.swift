import BlockingIO
public import NIOCore
internal import NIOPosix
public import RTPWire

/// Reads a socket on an event loop, no more often than useful.
///
/// Up to camera rates, SwiftNIO wakes up for a datagram and reads it, and a vectored call of our
/// own reads all others that wait. At rates where ``ReadPacer`` spaces the reads, each one is a
/// timer and a vectored call, because arming SwiftNIO's channel for each would cost more.
///
/// The memory of vectored calls is the thread's: if each channel had one, hundreds of cameras would
/// take a gigabyte.
///
/// The kernel may merge datagrams that come in a row, as the packets of a picture do, and hands
/// them over at the price of one.
///
/// SwiftNIO gets a separate descriptor, so that reading can pause without losing the port or the
/// kernel's buffer. Everything runs on the event loop.
final class DatagramReader: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  /// Who takes what was read; all three are called on the event loop.
  ///
  /// It is an object, because to copy three closures for each datagram would take long.
  final class Consumer {
    let datagram: (consuming Datagram, SocketAddress) -> Void
    let readCompleted: (Instant) -> Void
    /// SwiftNIO has closed the channel, although the reader was not paused.
    let failed: (any Error) -> Void

    init(
      datagram: @escaping (consuming Datagram, SocketAddress) -> Void,
      readCompleted: @escaping (Instant) -> Void, failed: @escaping (any Error) -> Void
    ) {
      (self.datagram, self.readCompleted, self.failed) = (datagram, readCompleted, failed)
    }
  }

  private var socket: DatagramSocket?
  private let kind: Datagram.Channel
  private let eventLoop: any EventLoop
  private var consumer: Consumer?
  private var channel: (any Channel)?
  private var pacer: ReadPacer
  private var inRead = 0
  private var arrival = Instant(nanoseconds: 0)
  private var lastError: (any Error)?
  private var nextRead: NIOScheduledCallback?
  /// Whether SwiftNIO wakes up for the next datagram.
  private var isArmed = false
  /// What is read behind this one's gathered datagrams.
  private var follower: DatagramReader?
  /// Whether another reader's reads are its own.
  private var isFollowing = false

  init(
    _ socket: DatagramSocket, as kind: Datagram.Channel, on eventLoop: any EventLoop,
    pacer: ReadPacer = ReadPacer(), for consumer: Consumer
  ) {
    self.socket = socket
    self.kind = kind
    self.eventLoop = eventLoop
    self.pacer = pacer
    self.consumer = consumer
  }

  /// Starts reading, or continues after ``pause()``.
  func start() -> EventLoopFuture<Void> {
    let descriptor: CInt
    do {
      guard let socket else { throw TransportError.closed }
      descriptor = try socket.duplicate()
    } catch { return eventLoop.makeFailedFuture(error) }
    let this = NIOLoopBound(self, eventLoop: eventLoop)
    return DatagramBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(
        .recvAllocator,
        value: FixedSizeRecvByteBufferAllocator(capacity: DatagramSocket.maximumDatagram)
      )
      .acceptingMergedDatagrams()
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(this.value)
        }
      }
      .withBoundSocket(descriptor)
      .map { channel in
        let reader = this.value
        guard reader.consumer != nil else { return channel.close(promise: nil) }
        reader.channel = channel
        reader.arm(channel)
      }
  }

  /// From now on reads seldom, as far as a kernel's buffer of `bufferSize` bytes has room; where
  /// `time` is zero, reads what waits, and from then on at once.
  func gather(for time: Duration, bufferSize: Int) {
    socket?.stampArrivals()
    pacer.gather(for: time.wholeNanoseconds, bufferSize: bufferSize)
    if time == .zero { readGathered() }
  }

  /// While datagrams gather here, `other` is read behind each read of this one, and wakes nobody.
  func lead(_ other: DatagramReader) {
    other.socket?.stampArrivals()
    follower = other
  }

  /// Reads what waits in the kernel now, if the next read is only due later.
  func readGathered() { if nextRead != nil { read() } }

  /// Stops reading; what arrives from now on waits in the kernel.
  func pause() {
    nextRead?.cancel()
    nextRead = nil
    follower?.follow(gathering: false)
    let channel = self.channel
    self.channel = nil
    isArmed = false
    channel?.close(promise: nil)
  }

  /// Stops reading for good, and releases the socket and the consumer.
  ///
  /// SwiftNIO keeps the reader for another turn of the loop, but the port must be free at once.
  func stop() {
    consumer = nil
    socket = nil
    follower = nil
    pause()
  }

  // MARK: Reads as datagrams come

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = unwrapInboundIn(data)
    // One reading of the clock serves the whole read: all of it was there before.
    if inRead == 0 { arrival = Instant.now }
    let bytes = envelope.data
    let merged = MergedDatagrams(
      length: bytes.readableBytes, segment: envelope.metadata?.segmentSize ?? 0)
    for part in merged {
      let start = bytes.readerIndex + part.lowerBound
      guard let datagram = bytes.getSlice(at: start, length: part.count) else { continue }
      deliver(datagram, from: envelope.remoteAddress)
    }
    // SwiftNIO does not tell the end of a read in which its channel was closed (``pause()``).
    if channel == nil { readCompleted() }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    isArmed = false
    // Others came with the first one, such as the rest of a picture.
    if inRead > 0 { takeAll() } else { readCompleted() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { lastError = error }

  func channelInactive(context: ChannelHandlerContext) {
    guard channel != nil else { return }
    channel = nil
    consumer?.failed(lastError ?? ChannelError.eof)
  }

  // MARK: Vectored reads

  private func read() {
    nextRead?.cancel()
    nextRead = nil
    takeAll()
  }

  private func takeAll() {
    guard channel != nil, let socket else { return }
    // The memory is given back by then: another reader may read inside of what follows.
    let isFull = takeWaiting(of: socket)
    arrival = Instant.now
    // There may be more, but others need the loop too.
    readCompleted(next: isFull ? 0 : nil)
  }

  /// Takes what waits, and returns whether more may.
  private func takeWaiting(of socket: DatagramSocket) -> Bool {
    let memory = VectorMemory.ofThread
    var (storage, gathered) = memory.take()
    // If a consumer keeps a slice, the next read takes new storage and copies nothing.
    var isFull = true
    for _ in 0..<Self.callsPerRead where isFull && channel != nil {
      let count = socket.receive(into: &storage, &gathered)
      // Behind the call, which may take long: the ages are those at its end.
      let now = Instant.now
      for datagram in gathered {
        guard let bytes = storage.getSlice(at: datagram.start, length: datagram.length) else {
          continue
        }
        // The kernel's clock may have been set since; nothing came before the last read.
        let age = max(datagram.age ?? 0, 0)
        arrival = max(arrival, Instant(nanoseconds: now.nanoseconds.subtractingSaturating(age)))
        deliver(bytes, from: datagram.origin)
      }
      isFull = count == DatagramSocket.slotsPerRead
    }
    memory.giveBack(storage, gathered)
    return isFull
  }

  // MARK: Both

  private func deliver(_ bytes: ByteBuffer, from origin: SocketAddress) {
    inRead += 1
    guard let consumer else { return }
    // Whether a sender is accepted follows from the header too, so it is read here.
    let header =
      kind == .media && !RTCPPacket.recognizes(bytes) ? try? RTPHeader(parsing: bytes) : nil
    // As an argument it would be copied, and the first one destroyed.
    let datagram = Datagram(
      bytes: bytes, header: header, arrival: arrival, channel: kind, origin: origin)
    consumer.datagram(consume datagram, origin)
  }

  private func readCompleted(next urgent: Int64? = nil) {
    let count = inRead
    inRead = 0
    if count > 0 { consumer?.readCompleted(arrival) }
    guard channel != nil, !isFollowing else { return }
    let pause = pacer.delay(afterReading: count, now: Instant.now)
    follower?.follow(gathering: (pause ?? 0) >= ReadPacer.shortestGathering)
    // What was read there may have been the end.
    guard let channel else { return }
    guard let delay = urgent ?? pause else { return arm(channel) }
    do {
      nextRead = try eventLoop.scheduleCallback(
        in: .nanoseconds(delay), handler: NextRead(reader: NIOLoopBound(self, eventLoop: eventLoop))
      )
    } catch { arm(channel) }
  }

  private func arm(_ channel: any Channel) {
    guard !isArmed else { return }
    isArmed = true
    channel.read()
  }

  /// Reads as its leader does from now on, whose datagrams are `gathering` or not.
  private func follow(gathering: Bool) {
    isFollowing = gathering
    // In the middle of a read, that read goes on.
    if gathering, inRead == 0 { read() }
    if !gathering, let channel { arm(channel) }
  }

  private struct NextRead: NIOScheduledCallbackHandler, Sendable {
    let reader: NIOLoopBound<DatagramReader>

    func handleScheduledCallback(eventLoop: some EventLoop) { reader.value.read() }
  }

  /// Vectored calls in a row before others get the event loop: 256 slots.
  static let callsPerRead = 8
}

extension DatagramBootstrap {
  /// Has the kernel merge datagrams and say so, where it can.
  fileprivate func acceptingMergedDatagrams() -> DatagramBootstrap {
    guard System.supportsUDPReceiveOffload else { return self }
    return channelOption(.datagramReceiveOffload, value: true)
      .channelOption(.datagramReceiveSegmentSize, value: true)
  }
}

extension Instant {
  /// The same time on SwiftNIO's monotonic clock, from which all arrival times are taken.
  public init(_ deadline: NIODeadline) {
    self.init(nanoseconds: Int64(clamping: deadline.uptimeNanoseconds))
  }
}
