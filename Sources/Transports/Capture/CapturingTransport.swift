internal import Glibc
public import NIOCore
internal import RTPWire

/// A transport whose datagrams go into a capture too, as they are delivered.
///
/// Where its carrier can wait, it does so while the disk is behind.
public final class CapturingTransport: RTPTransport {
  private let inner: any RTPTransport
  private let file: CaptureFile
  private let holds: NIOLoopBoundBox<Holds>

  /// Who wants the carrier to wait.
  fileprivate struct Holds {
    var byReceiver = false
    var byFile = false
  }

  /// Wraps `transport`; the same `file` may go on with another one after it has ended.
  public init(_ transport: any RTPTransport, to file: CaptureFile) {
    inner = transport
    self.file = file
    holds = .makeBoxSendingValue(Holds(), eventLoop: transport.eventLoop)
  }

  public var eventLoop: any EventLoop { inner.eventLoop }
  public var clock: ArrivalClock { inner.clock }
  public var isPassive: Bool { inner.isPassive }
  public var longestSilence: Duration? { inner.longestSilence }
  public var takesReports: Bool { inner.takesReports }

  public func open(delivering sink: any DatagramSink) async throws {
    file.beginConnection()
    try await inner.open(delivering: CapturingSink(sink, for: self, to: file))
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    inner.sendFeedback(bytes, track: track)
  }

  public func holdReading(_ isHeld: Bool) {
    holds.value.byReceiver = isHeld
    inner.holdReading(isHeld || holds.value.byFile)
  }

  public func counters() async -> TransportCounters { await inner.counters() }

  public func close() { inner.close() }

  /// How often it is looked whether the carrier may go on.
  private static let step = TimeAmount.milliseconds(2)
  /// How long a live sender is held at most: then packets are dropped from the capture.
  private static let longestHold = TimeAmount.seconds(2)

  /// Has the carrier wait until the file has room.
  fileprivate func waitForFile(since start: NIODeadline = .now()) {
    if !holds.value.byFile {
      holds.value.byFile = true
      inner.holdReading(true)
    }
    eventLoop.scheduleTask(in: Self.step) { [self] in
      let mayWait = clock == .recorded || NIODeadline.now() - start < Self.longestHold
      guard !file.isCrowded || !mayWait else { return waitForFile(since: start) }
      holds.value.byFile = false
      inner.holdReading(holds.value.byReceiver)
    }
  }

  fileprivate var isWaitingForFile: Bool { holds.value.byFile }
}

/// Writes what comes, and passes it on; on the event loop.
private final class CapturingSink: DatagramSink {
  private let sink: any DatagramSink
  private let transport: CapturingTransport
  private let file: CaptureFile
  /// What makes an arrival nanoseconds since 1970.
  private let offset: Int64
  private let origin: NIOLoopBoundBox<(address: SocketAddress, endpoint: IPEndpoint?)?>

  init(_ sink: any DatagramSink, for transport: CapturingTransport, to file: CaptureFile) {
    self.sink = sink
    self.transport = transport
    self.file = file
    offset = transport.clock == .recorded ? 0 : Self.wallClockOffset
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
    if !transport.isWaitingForFile, file.isCrowded { transport.waitForFile() }
  }

  var authenticates: Bool { sink.authenticates }

  func admit(_ datagram: Datagram) -> Bool {
    record(datagram)
    return sink.admit(datagram)
  }

  func readCompleted(at now: Instant) { sink.readCompleted(at: now) }

  func transportEnded(_ end: TransportEnd) { sink.transportEnded(end) }

  /// Of the sender, which is the same for many packets.
  private func endpoint(of address: SocketAddress) -> IPEndpoint? {
    if let known = origin.value, known.address == address { return known.endpoint }
    let endpoint = IPEndpoint(address)
    origin.value = (address, endpoint)
    return endpoint
  }

  /// From the monotonic clock to the wall clock, as they stand now.
  private static var wallClockOffset: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    return now.subtractingSaturating(Int64(clamping: NIODeadline.now().uptimeNanoseconds))
  }
}
