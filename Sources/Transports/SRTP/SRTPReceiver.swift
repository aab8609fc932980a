import BlockingIO
internal import NIOCore
internal import RTPWire

/// Decrypts the packets of a transport for a sink that wants plain ones, on its event loop.
///
/// What passes is decided by ``SRTPReception``.
final class SRTPReceiver: DatagramSink {
  private let eventLoop: any EventLoop
  private let supplier: SRTPKeySupplier?
  private let state: NIOLoopBoundBox<State>

  private struct State {
    var sink: (any DatagramSink)?
    var reception: SRTPReception
    /// The questions to the supplier.
    var tasks: [SRTPKeyRequest: Task<Void, Never>] = [:]
    var alarm = Alarm()
    var delivered: (packets: UInt64, bytes: UInt64) = (0, 0)
    /// The authentic packets of the current read.
    ///
    /// They are passed on together. So the processor's caches serve libsrtp for the whole read, and
    /// the later stages afterwards.
    var passed: [Datagram] = []

    /// What became of a datagram.
    enum Admission {
      /// It waits to be delivered, and whether enough do.
      case passed(isEnough: Bool)
      case refused
      case keyUnknown(SRTPKeyRequest)
    }

    // Each is one access to the box: reading a part of it copies the whole.

    /// Decrypts a datagram; what passes waits to be delivered, once enough have `passed`.
    mutating func receive(_ datagram: Datagram) -> Admission {
      guard sink != nil else { return .refused }
      switch reception.receive(datagram) {
      case .passed(let plain):
        passed.append(plain)
        return .passed(isEnough: passed.count >= SRTPSession.packetsTogether)
      case .refused: return .refused
      case .keyUnknown(let request): return .keyUnknown(request)
      }
    }

    /// Whom to deliver to.
    mutating func currentSink() -> (any DatagramSink)? { sink }

    /// Removes and returns what has passed, if anything has.
    mutating func takePassed() -> [Datagram]? {
      guard !passed.isEmpty else { return nil }
      defer { passed = [] }
      return passed
    }

    /// Uses the storage of what was delivered for the next read.
    mutating func reuse(_ delivered: consuming [Datagram]) {
      guard passed.isEmpty else { return }
      passed = delivered
      passed.removeAll(keepingCapacity: true)
    }

    /// Counts a datagram as delivered; `false` if nobody takes it any more.
    mutating func count(_ datagram: Datagram) -> Bool {
      guard sink != nil else { return false }
      delivered.packets += 1
      delivered.bytes += UInt64(datagram.bytes.readableBytes)
      return true
    }
  }

  /// - Throws: ``SRTPError``.
  init(
    _ protection: SRTPProtection, on eventLoop: any EventLoop, delivering sink: any DatagramSink
  ) throws(SRTPError) {
    self.eventLoop = eventLoop
    supplier =
      if case .everyTrack(let configuration) = protection,
        case .asked(_, _, let supplier) = configuration.keys
      { supplier } else { nil }
    state = .makeBoxSendingValue(
      State(sink: sink, reception: try SRTPReception(protection)), eventLoop: eventLoop)
  }

  /// Replaces the carrier's counters of delivery, and adds those of protection.
  func complete(_ counters: inout TransportCounters) {
    counters.delivered = state.value.delivered.packets
    counters.deliveredBytes = state.value.delivered.bytes
    counters.srtp = state.value.reception.counters
  }

  /// Encrypts RTCP about a track for the far end; `nil` before anything authentic has come.
  func protect(_ compound: ByteBuffer, track: Int) -> ByteBuffer? {
    state.value.reception.protect(compound, track: track)
  }

  // MARK: From the transport

  var authenticates: Bool { true }

  func describe(_ media: [MediaDescription]) {
    deliver()
    state.value.sink?.describe(media)
  }

  func receive(_ datagram: Datagram) { _ = admit(datagram) }

  func admit(_ datagram: Datagram) -> Bool {
    switch state.value.receive(datagram) {
    case .passed(let isEnough):
      if isEnough { deliver() }
      return true
    case .keyUnknown(let request):
      state.value.reception.hold(datagram, for: request, at: Instant.now)
      act()
      return false
    case .refused: return false
    }
  }

  func readCompleted(at now: Instant) {
    deliver()
    state.value.currentSink()?.readCompleted(at: now)
  }

  func transportEnded(_ end: TransportEnd) {
    deliver()
    let sink = state.value.sink
    abandon()
    sink?.transportEnded(end)
  }

  /// Lets go of the sink, as where the transport could not be opened, which nobody is told of.
  func abandon() {
    state.value.sink = nil
    state.value.passed = []
    state.value.reception.end()
    act()
  }

  private func deliver() {
    // The sink may end the transport, which calls this function again.
    guard let sink = state.value.currentSink(), let delivering = state.value.takePassed() else {
      return
    }
    for datagram in delivering {
      guard state.value.count(datagram) else { break }
      sink.receive(datagram)
    }
    state.value.reuse(consume delivering)
  }

  // MARK: What is to be done

  /// Performs the actions and sets the alarm for the deadline.
  private func act() {
    while let action = state.value.reception.nextAction() {
      switch action {
      case .request(let request): ask(request)
      case .withdraw(let request): state.value.tasks.removeValue(forKey: request)?.cancel()
      }
    }
    guard let deadline = state.value.reception.deadline else { return state.value.alarm.cancel() }
    state.value.alarm.set(for: deadline, on: eventLoop) { [weak self] in
      guard let self else { return }
      state.value.alarm.rang()
      state.value.reception.wake(at: Instant.now)
      act()
    }
  }

  private func ask(_ request: SRTPKeyRequest) {
    guard let supplier else { return }
    state.value.tasks[request] = Task { [eventLoop, weak self] in
      let key = try? await supplier(request)
      eventLoop.execute { [weak self] in self?.take(key ?? nil, for: request) }
    }
  }

  private func take(_ key: SRTPKeyMaterial?, for request: SRTPKeyRequest) {
    guard state.value.sink != nil else { return }
    let waiting = state.value.reception.take(key, for: request)
    state.value.tasks[request] = nil
    act()
    guard !waiting.isEmpty else { return }
    for datagram in waiting { receive(datagram) }
    readCompleted(at: max(Instant.now, state.value.reception.arrivals.latest))
  }
}
