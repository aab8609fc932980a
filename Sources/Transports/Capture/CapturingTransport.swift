import BlockingIO
public import NIOCore
public import RTPWire

/// A transport whose datagrams are also captured, as they are delivered.
///
/// The carrier, if it can be held, is held while the disk is behind.
public final class CapturingTransport: RTPTransport {
  private let inner: any RTPTransport
  private let file: CaptureFile
  private let state: NIOLoopBoundBox<State>

  private struct State {
    var isHeldByReceiver = false
    var hold = Hold.none
  }

  /// Whether the carrier is held for the file.
  private enum Hold {
    case none
    case held(patience: Scheduled<Void>)
    /// Holding timed out: until there is room, packets are missing from the capture.
    case givenUp
  }

  /// Wraps `transport`; the same `file` may continue with another one after it has ended.
  public init(_ transport: any RTPTransport, to file: CaptureFile) {
    inner = transport
    self.file = file
    state = .makeBoxSendingValue(State(), eventLoop: transport.eventLoop)
  }

  public var eventLoop: any EventLoop { inner.eventLoop }
  public var clock: ArrivalClock { inner.clock }
  public var isPassive: Bool { inner.isPassive }
  public var comesAgain: Bool { inner.comesAgain }
  public var longestSilence: Duration? { inner.longestSilence }
  public var takesReports: Bool { inner.takesReports }

  /// Nothing gathers: what gathers in a connection gets the time of its read, and a capture is to
  /// say when each packet came.
  public var canGather: Bool { false }

  public func open(delivering sink: any DatagramSink) async throws {
    file.beginConnection()
    try await inner.open(delivering: CapturingSink(sink, for: self, to: file))
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    inner.sendFeedback(bytes, track: track)
  }

  public func holdReading(_ isHeld: Bool) {
    state.value.isHeldByReceiver = isHeld
    if case .held = state.value.hold { return }
    inner.holdReading(isHeld)
  }

  public func counters() async -> TransportCounters { await inner.counters() }

  public func close() { inner.close() }

  /// Holds the carrier if the file has no room; if that takes too long, packets are missing from
  /// the capture.
  fileprivate func considerHold() {
    switch state.value.hold {
    case .none:
      guard file.isCrowded else { return }
      let patience = clock.isLive ? Self.livePatience : Self.recordedPatience
      state.value.hold = .held(
        patience: eventLoop.scheduleTask(in: patience) { [self] in endHold(.givenUp) })
      inner.holdReading(true)
      file.whenThereIsRoom { [self] in eventLoop.execute { self.endHold(.none) } }
    case .held: break
    case .givenUp: if !file.isCrowded { state.value.hold = .none }
    }
  }

  private func endHold(_ next: Hold) {
    guard case .held(let patience) = state.value.hold else { return }
    patience.cancel()
    state.value.hold = next
    inner.holdReading(state.value.isHeldByReceiver)
  }

  /// Stops waiting for the file.
  fileprivate func ended() {
    if case .held(let patience) = state.value.hold { patience.cancel() }
    state.value.hold = .none
  }

  /// How long a live sender is held.
  static let livePatience = TimeAmount.seconds(2)
  /// How long a recording is held, whose packets are never late.
  static let recordedPatience = TimeAmount.seconds(30)
}

/// Writes each datagram and passes it on, on the event loop.
private final class CapturingSink: DatagramSink {
  private let sink: any DatagramSink
  private let transport: CapturingTransport
  private let file: CaptureFile
  /// Converts an arrival to nanoseconds since 1970.
  private let offset: Int64
  private let origin: NIOLoopBoundBox<(address: SocketAddress, endpoint: IPEndpoint?)?>

  init(_ sink: any DatagramSink, for transport: CapturingTransport, to file: CaptureFile) {
    self.sink = sink
    self.transport = transport
    self.file = file
    offset = transport.clock.isLive ? UTC.lead : 0
    origin = .makeBoxSendingValue(nil, eventLoop: transport.eventLoop)
  }

  func describe(_ media: [MediaDescription]) {
    file.describe(media)
    sink.describe(media)
  }

  func receive(_ datagram: Datagram) {
    record(datagram)
    sink.receive(datagram)
  }

  private func record(_ datagram: Datagram) {
    file.write(
      datagram, from: datagram.origin.flatMap(endpoint),
      at: datagram.arrival.nanoseconds.addingSaturating(offset))
    transport.considerHold()
  }

  var authenticates: Bool { sink.authenticates }

  func admit(_ datagram: Datagram) -> Bool {
    record(datagram)
    return sink.admit(datagram)
  }

  func readCompleted(at now: Instant) { sink.readCompleted(at: now) }

  func transportEnded(_ end: TransportEnd) {
    transport.ended()
    sink.transportEnded(end)
  }

  /// The sender's endpoint, which is the same for many packets.
  private func endpoint(of address: SocketAddress) -> IPEndpoint? {
    if let known = origin.value, known.address == address { return known.endpoint }
    let endpoint = IPEndpoint(address)
    origin.value = (address, endpoint)
    return endpoint
  }
}
