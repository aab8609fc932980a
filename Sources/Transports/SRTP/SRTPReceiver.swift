internal import NIOCore
internal import RTPWire

/// Stands between a transport that carries protected packets and a sink that wants plain ones.
///
/// All of its state belongs to the event loop of the transport, which is what makes it safe to share.
final class SRTPReceiver: DatagramSink, @unchecked Sendable {
  private let eventLoop: any EventLoop
  private var sink: (any DatagramSink)?
  private var session: SRTPSession
  /// For packets that are sent again in a session of their own.
  private var retransmissions: SRTPSession?
  private let supplier: SRTPKeySupplier?
  private var inquiries: [Inquiry] = []
  private var held = HeldDatagrams()
  private var expiry: Scheduled<Void>?
  private var lastArrival = Instant(nanoseconds: .min)
  private var delivered: (packets: UInt64, bytes: UInt64) = (0, 0)
  /// Authentic packets of the read that is going on.
  ///
  /// They go on together, so that the caches of the processor belong to libsrtp and what stands
  /// below it for all of a read, and to the rest of the way after that.
  private var passed: [Datagram] = []
  private var delivering: [Datagram] = []

  /// A key that was asked for.
  private struct Inquiry {
    let request: SRTPKeyRequest
    /// `nil` once it is answered, if only by there being no key.
    var task: Task<Void, Never>?
  }

  /// - Throws: ``SRTPError``.
  init(
    _ configuration: SRTPConfiguration, on eventLoop: any EventLoop,
    delivering sink: any DatagramSink
  ) throws(SRTPError) {
    self.eventLoop = eventLoop
    self.sink = sink
    session = try configuration.makeSession()
    retransmissions = try configuration.makeRetransmissionSession()
    supplier = if case .asked(_, _, let supplier) = configuration.keys { supplier } else { nil }
  }

  /// Replaces what protection and delivery have to do with the counters of the carrier.
  func complete(_ counters: inout TransportCounters) {
    var own = session.counters
    if let others = retransmissions?.counters { own = own.added(to: others) }
    own.held = UInt64(held.count)
    counters.delivered = delivered.packets
    counters.deliveredBytes = delivered.bytes
    counters.srtp = own
  }

  /// Encrypts RTCP for the far end; `nil` before anything authentic has come.
  func protect(_ compound: ByteBuffer) -> ByteBuffer? { session.protect(compound) }

  // MARK: From the transport

  var authenticates: Bool { true }

  func describe(_ media: [MediaDescription]) {
    deliver()
    sink?.describe(media)
  }

  func receive(_ datagram: Datagram) { _ = admit(datagram) }

  func admit(_ datagram: Datagram) -> Bool {
    guard sink != nil else { return false }
    let isControl = datagram.channel == .control || RTCPPacket.recognizes(datagram.bytes)
    if datagram.channel == .retransmission {
      return admitRetransmission(datagram, isControl: isControl)
    }
    switch session.unprotect(datagram.bytes, isControl: isControl, at: datagram.arrival) {
    case .passed(let clear):
      pass(clear, of: datagram)
      return true
    case .keyUnknown(let request):
      ask(for: request, holding: datagram)
      return false
    case .authenticationFailed, .replayed, .malformed: return false
    }
  }

  private func admitRetransmission(_ datagram: Datagram, isControl: Bool) -> Bool {
    switch retransmissions?.unprotect(datagram.bytes, isControl: isControl, at: datagram.arrival) {
    case .passed(let clear):
      pass(clear, of: datagram)
      return true
    case .keyUnknown, nil:
      session.count(\.noKey)
      return false
    case .authenticationFailed, .replayed, .malformed: return false
    }
  }

  func readCompleted(at now: Instant) {
    deliver()
    sink?.readCompleted(at: now)
  }

  func transportEnded(_ end: TransportEnd) {
    deliver()
    let sink = self.sink
    self.sink = nil
    expiry?.cancel()
    for inquiry in inquiries { inquiry.task?.cancel() }
    inquiries.removeAll()
    drop(held.dropAll())
    sink?.transportEnded(end)
  }

  private func pass(_ clear: ByteBuffer, of datagram: Datagram) {
    var datagram = datagram
    datagram.bytes = clear
    // What was held comes after what was not, and arrival times never decrease.
    datagram.arrival = max(datagram.arrival, lastArrival)
    lastArrival = datagram.arrival
    passed.append(datagram)
    if passed.count == SRTPSession.packetsTogether { deliver() }
  }

  private func deliver() {
    // The sink may end the transport, which comes here again.
    guard !passed.isEmpty else { return }
    swap(&passed, &delivering)
    for datagram in delivering {
      guard let sink else { break }
      delivered.packets += 1
      delivered.bytes += UInt64(datagram.bytes.readableBytes)
      sink.receive(datagram)
    }
    delivering.removeAll(keepingCapacity: true)
  }

  private func drop(_ count: Int) { session.count(\.heldTooLong, count) }

  // MARK: Keys that are asked for

  private func ask(for request: SRTPKeyRequest, holding datagram: Datagram) {
    guard let supplier else { return session.count(\.noKey) }
    if let index = inquiries.firstIndex(where: { $0.request == request }) {
      guard inquiries[index].task != nil else { return session.count(\.noKey) }
      return hold(datagram, for: request)
    }
    if inquiries.count == Self.maximumInquiries {
      // Where all of them are still unanswered, nobody else is asked about.
      guard let answered = inquiries.firstIndex(where: { $0.task == nil }) else {
        return session.count(\.noKey)
      }
      inquiries.remove(at: answered)
    }
    session.count(\.keyRequests)
    hold(datagram, for: request)
    let task = Task { [eventLoop, weak self] in
      let key = try? await supplier(request)
      eventLoop.execute { [weak self] in self?.take(key ?? nil, for: request) }
    }
    inquiries.append(Inquiry(request: request, task: task))
  }

  private func hold(_ datagram: Datagram, for request: SRTPKeyRequest) {
    drop(held.hold(datagram, for: request))
    guard expiry == nil else { return }
    expiry = eventLoop.scheduleTask(in: .nanoseconds(HeldDatagrams.longestWait)) { [weak self] in
      self?.expire()
    }
  }

  private func expire() {
    expiry = nil
    drop(held.dropStale(at: Instant(NIODeadline.now())))
    guard held.count > 0 else { return }
    expiry = eventLoop.scheduleTask(in: .nanoseconds(HeldDatagrams.longestWait)) { [weak self] in
      self?.expire()
    }
  }

  private func take(_ key: SRTPKeyMaterial?, for request: SRTPKeyRequest) {
    guard sink != nil, let index = inquiries.firstIndex(where: { $0.request == request }) else {
      return
    }
    let waiting = held.take(for: request)
    do throws(SRTPError) {
      guard let key, key.identifier == request.identifier else { throw .keyMissing(profile: "") }
      // A key that packets name is good for whoever names it.
      try session.add(key, for: request.identifier.isEmpty ? request.ssrc : nil)
      inquiries.remove(at: index)
    } catch {
      inquiries[index].task = nil
      session.count(\.keyFailures)
      session.count(\.noKey, waiting.count)
      return
    }
    for datagram in waiting { receive(datagram) }
    readCompleted(at: max(Instant(NIODeadline.now()), lastArrival))
  }

  /// Keys asked for at once, and refusals remembered: as many as there may be sources.
  static let maximumInquiries = SRTPSession.maximumSources
}
