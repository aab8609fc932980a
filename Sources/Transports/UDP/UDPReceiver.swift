import BlockingIO
internal import NIOCore
internal import RTPWire

/// What receives over UDP, on its event loop: sockets, schedule and pin together.
///
/// It is either reading or watching. While media flows, it reads with SwiftNIO. While none flows, a
/// client of a hello server watches its socket instead: only then are the errors counted that the
/// server's host reports (see ``DatagramSocket/keepErrors(_:)``). A listener sends nothing unasked,
/// gets no such errors, and always reads.
final class UDPReceiver: TrackReceiver {
  struct Ports {
    var media: DatagramSocket
    /// The socket next to the media port, to which senders without RFC 5761 send RTCP.
    var control: DatagramSocket?
    /// The port of that socket where another program has it.
    var missingControlPort: Int?
    /// The ports for repairs.
    var repairs: [Repair] = []
    /// The group that the sockets have joined, if any.
    var group: JoinedGroup?
    var receiveBuffer: Int
    /// The port for RTCP that the far end has named, if any.
    var feedbackPort: Int?
  }

  /// A port for correction packets or retransmissions.
  struct Repair {
    var socket: DatagramSocket
    var channel: Datagram.Channel
  }

  private(set) var ports: Ports
  /// Called when the network reports that a hello was not delivered, or the kernel does not send
  /// it.
  var hasNoAnswer: (() -> Void)?
  var onDiagnostic: ((TransportDiagnostic) -> Void)? {
    didSet {
      guard let onDiagnostic else { return }
      for diagnostic in count.diagnostics { onDiagnostic(diagnostic) }
    }
  }
  private let eventLoop: any EventLoop
  private var sink: (any DatagramSink)?
  /// Whether the sink decides what is genuine.
  private let isAuthenticated: Bool
  private var media: DatagramReader?
  private var control: DatagramReader?
  private var repairs: [DatagramReader] = []
  private var pin: SourcePin
  private var hello: Hello?
  private var count = TransportCounters()
  private var isControlOnMediaPort = false
  private var foreign = ForeignTraffic()
  /// The origin of RTCP on its port.
  private var controlSource: SocketAddress?
  private var arrivals = MonotonicArrivals()

  /// The messages of a client to its server, and their schedule.
  struct Hello {
    var server: SocketAddress
    var payloads: UDPTransport.HelloConfiguration
    var schedule: HelloSchedule
    var timer: Scheduled<Void>?
    /// Wakes the stream while it watches.
    var watch: SocketReadiness.Wait?
    /// Wakes it while it reads, to check whether the media has stopped.
    var silenceTimer: Scheduled<Void>?
    /// When reading began; silence is counted from here or from the last media.
    var readingSince: Instant?
  }

  init(
    ports: Ports, expecting expectation: SourcePin.Expectation, hello: Hello?,
    on eventLoop: any EventLoop, delivering sink: any DatagramSink
  ) {
    self.ports = ports
    self.eventLoop = eventLoop
    self.hello = hello
    self.sink = sink
    isAuthenticated = sink.authenticates
    pin = SourcePin(expecting: expectation)
    count.receiveBuffer = ports.receiveBuffer
    if let port = ports.missingControlPort {
      count.note(
        .warning(
          "port \(port) is taken, so the sender's RTCP is missed: its clock, and its goodbye"))
    }
    media = DatagramReader(ports.media, as: .media, on: eventLoop, for: consumer())
    control = ports.control.map {
      DatagramReader($0, as: .control, on: eventLoop, for: controlConsumer())
    }
    repairs = ports.repairs.map(reader)
  }

  /// Starts receiving, and says hello if there is one.
  func start() -> EventLoopFuture<Void> {
    let control = self.control?.start() ?? eventLoop.makeSucceededVoidFuture()
    if hello != nil {
      do throws(TransportError) { try watch() } catch { return eventLoop.makeFailedFuture(error) }
      speak()
      return control
    }
    ports.group?.keep(on: eventLoop) { [self] in pin.lastMedia }
    return EventLoopFuture.andAllSucceed(
      [control, media?.start() ?? eventLoop.makeSucceededVoidFuture()]
        + repairs.map { $0.start() }, on: eventLoop)
  }

  /// Starts receiving on another port, which the far end has named.
  func add(_ repair: Repair) -> EventLoopFuture<Void> {
    guard sink != nil else { return eventLoop.makeSucceededVoidFuture() }
    let reader = reader(of: repair)
    ports.repairs.append(repair)
    repairs.append(reader)
    return reader.start()
  }

  func end(_ end: TransportEnd) { stop()?.transportEnded(end) }

  /// Stops silently, for a stream that never opened; returns the sink, not yet notified.
  @discardableResult
  func stop() -> (any DatagramSink)? {
    guard let sink else { return nil }
    self.sink = nil
    noteKernelDrops(in: &count)
    pin.discardHeld()
    hello?.timer?.cancel()
    if let wait = hello?.watch { SocketReadiness.shared.cancel(wait) }
    hello?.silenceTimer?.cancel()
    hello = nil
    hasNoAnswer = nil
    onDiagnostic = nil
    ports.group?.stop()
    media?.stop()
    control?.stop()
    for repair in repairs { repair.stop() }
    media = nil
    control = nil
    repairs = []
    return sink
  }

  var counters: TransportCounters {
    var counters = count
    counters.foreignOrigin += pin.discarded
    let waiting = pin.waiting
    counters.unproven = waiting.media
    counters.reportsAlone += pin.reportsAlone + waiting.reports
    counters.rebindings = pin.rebindings
    if sink != nil { noteKernelDrops(in: &counters) }
    counters.localAddress = ports.media.localAddress?.endpoint
    counters.otherSender = foreign.otherSender(lastMedia: pin.lastMedia)
    return counters
  }

  /// Sends RTCP to the source of the media: to the media port itself if RTCP came from there or a
  /// hello opened the way (RFC 5761, RFC 4961), otherwise to the port that the far end named, or
  /// the one next to the media port (RFC 3550 §11).
  ///
  /// Behind a NAT that port is another, and reports come from it; but GStreamer's `udpsink` sends
  /// them from a port where it accepts none. If in doubt, RTCP goes to both.
  func sendFeedback(_ bytes: ByteBuffer) {
    guard sink != nil, pin.lastMedia != nil, let source = pin.source else { return }
    if let control = ports.control, !isControlOnMediaPort, let port = source.port, port < 65_535 {
      let target = source.with(port: ports.feedbackPort ?? port + 1)
      _ = control.send(bytes, to: target)
      if ports.feedbackPort == nil, let controlSource, controlSource != target,
        controlSource.with(port: port) == source
      {
        _ = control.send(bytes, to: controlSource)
      }
    } else {
      send(bytes, to: source)
    }
  }

  // MARK: - Receiving

  private func reader(of repair: Repair) -> DatagramReader {
    DatagramReader(repair.socket, as: repair.channel, on: eventLoop, for: consumer())
  }

  func gather(for time: Duration) {
    media?.gather(for: time, bufferSize: ports.receiveBuffer)
    if let control { media?.lead(control) }
  }

  /// ``stop()`` ends what the readers and timers hold; weak references to this object would make
  /// every packet slower.
  private func consumer() -> DatagramReader.Consumer {
    consumer { [self] in receive($0, from: $1) }
  }

  private func consumer(
    _ datagram: @escaping (consuming Datagram, SocketAddress) -> Void
  ) -> DatagramReader.Consumer {
    DatagramReader.Consumer(
      datagram: datagram,
      readCompleted: { [self] in sink?.readCompleted(at: $0) },
      failed: { [self] in end(.failed($0)) })
  }

  /// The same for RTCP, which comes behind the media that it speaks of, also where it is the first
  /// since media gathers.
  ///
  /// A goodbye that is heard before the last packets would not count.
  private func controlConsumer() -> DatagramReader.Consumer {
    consumer { [self] in
      media?.readGathered()
      receive($0, from: $1)
    }
  }

  private func receive(_ datagram: consuming Datagram, from origin: SocketAddress) {
    guard datagram.bytes.readableBytes > 0 else {
      count.empty += 1
      return
    }
    if isAuthenticated { return receiveProtected(datagram, from: origin) }
    let verdict =
      switch datagram.channel {
      case .media: pin.admit(datagram, from: origin)
      case .control: pin.admitControl(datagram, from: origin)
      case .correction, .retransmission: pin.admitRepair(from: origin)
      }
    switch verdict {
    case .accepted:
      // A server that got a hello is accepted whatever it sends, but only RTP begins a stream.
      if pin.lastMedia == nil, noteContent(of: datagram) {
        count.notRTP += 1
        return
      }
      if datagram.channel == .control { controlSource = origin }
      deliver(datagram)
    case .held: break
    case .latched(let datagrams):
      foreign.forget(origin)
      for datagram in datagrams { deliver(datagram) }
    case .foreign:
      if pin.awaits(origin, on: datagram.channel, now: datagram.arrival), noteContent(of: datagram)
      {
        count.notRTP += 1
      } else {
        leaveOut(datagram, from: origin)
      }
    }
  }

  /// Counts a datagram of an address that is not the sender's.
  private func leaveOut(_ datagram: borrowing Datagram, from origin: SocketAddress) {
    count.foreignOrigin += 1
    foreign.note(datagram, from: origin)
  }

  /// Notes what kind of datagram this is if it is not RTP, once per kind; returns whether that is
  /// so.
  private func noteContent(of datagram: Datagram) -> Bool {
    let (isForeign, words) = foreign.noteContent(of: datagram.bytes)
    if let words { note(.content(words)) }
    return isForeign
  }

  private func note(_ diagnostic: TransportDiagnostic) {
    count.note(diagnostic)
    onDiagnostic?(diagnostic)
  }

  /// Lets the sink decide what is genuine, because appearance proves nothing.
  private func receiveProtected(_ datagram: Datagram, from origin: SocketAddress) {
    // Asked first, because a call copies the pin for each packet.
    guard
      origin == pin.source
        || pin.mayAuthenticate(datagram.channel, from: origin, now: datagram.arrival)
    else {
      pin.noteBystander(origin, at: datagram.arrival)
      return leaveOut(datagram, from: origin)
    }
    count.delivered += 1
    count.deliveredBytes += UInt64(datagram.bytes.readableBytes)
    guard sink?.admit(datagram) == true else { return }
    if datagram.channel == .control { controlSource = origin }
    pin.noteAuthentic(datagram, from: origin)
    if foreign.hasSender, let source = pin.source { foreign.forget(source) }
    noteMedia(datagram)
  }

  private func deliver(_ datagram: consuming Datagram) {
    guard let sink else { return }
    datagram.arrival = arrivals.order(datagram.arrival)
    noteMedia(datagram)
    count.delivered += 1
    count.deliveredBytes += UInt64(datagram.bytes.readableBytes)
    sink.receive(datagram)
  }

  /// Notes what a datagram shows about the far end.
  ///
  /// Only media shows that no hello is needed: a server whose source has died may go on with RTCP.
  private func noteMedia(_ datagram: Datagram) {
    guard datagram.channel == .media else { return }
    if datagram.isControl {
      isControlOnMediaPort = true
    } else if pin.lastMedia != nil, isAuthenticated || datagram.header != nil {
      if hello?.schedule.mediaArrived(at: datagram.arrival) == true {
        hello?.timer?.cancel()
        speak()
      }
    }
  }

  private func noteKernelDrops(in counters: inout TransportCounters) {
    counters.kernelDropped =
      ports.media.kernelDrops + ports.repairs.reduce(0) { $0 + $1.socket.kernelDrops }
    counters.kernelDroppedRTCP = ports.control?.kernelDrops ?? 0
  }

  // MARK: - Sending

  /// Sends what is due and schedules the next message.
  private func speak() {
    let now = Instant.now
    while let message = hello?.schedule.poll(now: now), let hello {
      switch message {
      case .hello:
        send(hello.payloads.hello, to: hello.server)
        count.hellosSent += 1
      case .heartbeat:
        send(hello.payloads.heartbeat, to: hello.server)
        count.heartbeatsSent += 1
      }
    }
    guard let deadline = hello?.schedule.deadline else { return }
    hello?.timer = eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(max(now.nanoseconds(to: deadline), 0))
    ) { [self] in speak() }
  }

  private func send(_ bytes: ByteBuffer, to address: SocketAddress) {
    guard ports.media.send(bytes, to: address) == .notSent else { return }
    // The send failed with a pending error, so the datagram was not sent.
    countErrors()
    if ports.media.send(bytes, to: address) == .notSent { hasNoAnswer?() }
  }

  // MARK: - Watching

  private func watch() throws(TransportError) {
    media?.pause()
    ports.media.keepErrors(true)
    hello?.readingSince = nil
    try look()
  }

  /// Reads if a datagram waits; otherwise waits for one, or for an error to count.
  private func look() throws(TransportError) {
    hello?.watch = nil
    guard hello != nil, let media else { return }
    countErrors()
    guard ports.media.isReadable else {
      let wait = try ports.media.waitUntilReady(on: eventLoop)
      hello?.watch = wait
      return wait.isReady.assumeIsolated().whenSuccess { [self] in
        orEnd { (receiver) throws(TransportError) in try receiver.look() }
      }
    }
    ports.media.keepErrors(false)
    hello?.readingSince = Instant.now
    watchOnceSilent()
    media.start().assumeIsolated().whenFailure { [self] in end(.failed($0)) }
  }

  private func watchOnceSilent() {
    guard let since = hello?.readingSince else { return }
    let last = max(pin.lastMedia ?? since, since)
    let silence = last.nanoseconds(to: Instant.now)
    let left = SourcePin.rebindingSilence - silence
    guard left > 0 else {
      return orEnd { (receiver) throws(TransportError) in try receiver.watch() }
    }
    hello?.silenceTimer = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(left)) {
      [self] in watchOnceSilent()
    }
  }

  /// Runs `body`, and ends the stream if it fails.
  private func orEnd(_ body: (UDPReceiver) throws(TransportError) -> Void) {
    do throws(TransportError) { try body(self) } catch { end(.failed(error)) }
  }

  private func countErrors() {
    let errors = ports.media.takeErrors()
    count.refused += errors.refused
    if errors.refused + errors.others > 0 { hasNoAnswer?() }
  }
}
