internal import NIOCore
internal import RTPWire

/// Decrypts the packets of a transport for a sink that wants plain ones.
///
/// All of its state belongs to the event loop of the transport, so it is safe to share.
final class SRTPReceiver: DatagramSink, @unchecked Sendable {
  private let eventLoop: any EventLoop
  private var sink: (any DatagramSink)?
  /// One for each track, `nil` where the key is unknown; or a single one for all tracks.
  private var sessions: [Sessions?]
  private let isShared: Bool
  /// The counters that belong to no session.
  private var counted = SRTPCounters()
  private let supplier: SRTPKeySupplier?
  private var inquiries: [Inquiry] = []
  private var held = HeldDatagrams()
  private var expiry: Scheduled<Void>?
  private var lastArrival = Instant(nanoseconds: .min)
  private var delivered: (packets: UInt64, bytes: UInt64) = (0, 0)
  /// The authentic packets of the current read.
  ///
  /// They are passed on together. So the processor's caches serve libsrtp for the whole read, and
  /// the later stages afterwards.
  private var passed: [Datagram] = []
  private var delivering: [Datagram] = []

  /// Where authentic media last came from.
  private var authenticOrigin: SocketAddress?
  private var allowance = SRTPInquiryAllowance()

  private struct Sessions {
    var media: SRTPSession
    /// The session of retransmissions.
    var retransmissions: SRTPSession?

    init(_ configuration: SRTPConfiguration) throws(SRTPError) {
      media = try configuration.makeSession()
      retransmissions = try configuration.makeRetransmissionSession()
    }
  }

  /// A key that was requested.
  private struct Inquiry {
    let request: SRTPKeyRequest
    let origin: SocketAddress?
    /// `nil` once it is answered, even if there is no key.
    var task: Task<Void, Never>?
    let patience: Scheduled<Void>

    func end() {
      task?.cancel()
      patience.cancel()
    }
  }

  /// - Throws: ``SRTPError``.
  init(
    _ protection: SRTPProtection, on eventLoop: any EventLoop, delivering sink: any DatagramSink
  ) throws(SRTPError) {
    self.eventLoop = eventLoop
    self.sink = sink
    switch protection {
    case .everyTrack(let configuration):
      sessions = [try Sessions(configuration)]
      isShared = true
      supplier = if case .asked(_, _, let supplier) = configuration.keys { supplier } else { nil }
    case .tracks(let configurations):
      var sessions: [Sessions?] = []
      for configuration in configurations {
        if let configuration {
          sessions.append(try Sessions(configuration))
        } else {
          sessions.append(nil)
        }
      }
      self.sessions = sessions
      isShared = false
      supplier = nil
    }
  }

  /// The index of a track's sessions, if it has any.
  private func place(ofTrack track: Int) -> Int? {
    let place = isShared ? 0 : track
    return sessions.indices.contains(place) && sessions[place] != nil ? place : nil
  }

  /// Replaces the carrier's counters of delivery, and adds those of protection.
  func complete(_ counters: inout TransportCounters) {
    var own = counted
    for case let sessions? in sessions {
      own = sessions.media.counters.added(to: own)
      if let others = sessions.retransmissions?.counters { own = others.added(to: own) }
    }
    own.held = UInt64(held.count)
    counters.delivered = delivered.packets
    counters.deliveredBytes = delivered.bytes
    counters.srtp = own
  }

  /// Encrypts RTCP about a track for the far end; `nil` before anything authentic has come.
  func protect(_ compound: ByteBuffer, track: Int) -> ByteBuffer? {
    place(ofTrack: track).flatMap { sessions[$0]?.media.protect(compound) }
  }

  // MARK: From the transport

  var authenticates: Bool { true }

  func describe(_ media: [MediaDescription]) {
    deliver()
    sink?.describe(media)
  }

  func receive(_ datagram: Datagram) { _ = admit(datagram) }

  func admit(_ datagram: Datagram) -> Bool {
    guard sink != nil else { return false }
    guard let place = place(ofTrack: datagram.track) else {
      counted.noKey += 1
      return false
    }
    let isControl = datagram.channel == .control || RTCPPacket.recognizes(datagram.bytes)
    if datagram.channel == .retransmission {
      return admitRetransmission(datagram, isControl: isControl, place)
    }
    switch sessions[place]?.media.unprotect(
      datagram.bytes, isControl: isControl, from: datagram.origin, at: datagram.arrival)
    {
    case .passed(let clear):
      if !isControl, authenticOrigin != datagram.origin { authenticOrigin = datagram.origin }
      pass(clear, of: datagram)
      return true
    case .keyUnknown(let request):
      ask(for: request, holding: datagram)
      return false
    case .authenticationFailed, .replayed, .malformed, nil: return false
    }
  }

  private func admitRetransmission(_ datagram: Datagram, isControl: Bool, _ place: Int) -> Bool {
    switch sessions[place]?.retransmissions?.unprotect(
      datagram.bytes, isControl: isControl, from: datagram.origin, at: datagram.arrival)
    {
    case .passed(let clear):
      pass(clear, of: datagram)
      return true
    case .keyUnknown, nil:
      counted.noKey += 1
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
    for inquiry in inquiries { inquiry.end() }
    inquiries.removeAll()
    drop(held.dropAll())
    sink?.transportEnded(end)
  }

  private func pass(_ clear: ByteBuffer, of datagram: Datagram) {
    var datagram = datagram
    datagram.bytes = clear
    // Held packets come late, but arrival times must not decrease.
    datagram.arrival = max(datagram.arrival, lastArrival)
    lastArrival = datagram.arrival
    passed.append(datagram)
    if passed.count == SRTPSession.packetsTogether { deliver() }
  }

  private func deliver() {
    // The sink may end the transport, which calls this function again.
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

  private func drop(_ count: Int) { counted.heldTooLong += UInt64(clamping: count) }

  private func countWithoutKey(_ packets: Int = 1) { counted.noKey += UInt64(clamping: packets) }

  // MARK: Keys that are asked for

  private func ask(for request: SRTPKeyRequest, holding datagram: Datagram) {
    guard let supplier else { return countWithoutKey() }
    if let index = inquiries.firstIndex(where: { $0.request == request }) {
      guard inquiries[index].task != nil else { return countWithoutKey() }
      return hold(datagram, for: request)
    }
    let origin = datagram.origin
    let isKnown = origin.map { isAuthentic($0) } ?? false
    guard makeRoom(isKnown: isKnown),
      allowance.take(for: origin, isKnown: isKnown, at: datagram.arrival)
    else { return countWithoutKey() }
    counted.keyRequests += 1
    hold(datagram, for: request)
    let task = Task { [eventLoop, weak self] in
      let key = try? await supplier(request)
      eventLoop.execute { [weak self] in self?.take(key ?? nil, for: request) }
    }
    let patience: Scheduled<Void> = eventLoop.scheduleTask(in: Self.supplierPatience) {
      [weak self] in
      self?.giveUp(request)
    }
    inquiries.append(Inquiry(request: request, origin: origin, task: task, patience: patience))
  }

  /// Makes room for another inquiry; returns whether there is any.
  ///
  /// If necessary an answered inquiry is forgotten. For a sender with authentic media, an inquiry
  /// about another one may be given up.
  private func makeRoom(isKnown: Bool) -> Bool {
    guard inquiries.count == Self.maximumInquiries else { return true }
    let answered = inquiries.firstIndex { $0.task == nil }
    let foreign = inquiries.firstIndex { $0.origin.map { !isAuthentic($0) } ?? false }
    guard let index = answered ?? (isKnown ? foreign : nil) else { return false }
    let inquiry = inquiries.remove(at: index)
    inquiry.end()
    drop(held.take(for: inquiry.request).count)
    return true
  }

  private func isAuthentic(_ origin: SocketAddress) -> Bool {
    authenticOrigin?.isSameHost(as: origin) ?? false
  }

  /// Stops waiting for an answer; if the source keeps sending, its key is requested again.
  private func giveUp(_ request: SRTPKeyRequest) {
    guard let index = inquiries.firstIndex(where: { $0.request == request && $0.task != nil })
    else { return }
    inquiries.remove(at: index).end()
    counted.keyFailures += 1
    drop(held.take(for: request).count)
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
      // A key with an identifier is valid for every source that names it.
      try sessions[0]?.media.add(key, for: request.identifier.isEmpty ? request.ssrc : nil)
      inquiries.remove(at: index).end()
    } catch {
      inquiries[index].task = nil
      inquiries[index].patience.cancel()
      counted.keyFailures += 1
      countWithoutKey(waiting.count)
      return
    }
    for datagram in waiting { receive(datagram) }
    readCompleted(at: max(Instant(NIODeadline.now()), lastArrival))
  }

  /// The most open requests and remembered refusals: as many as there can be sources.
  static let maximumInquiries = SRTPSession.maximumSources
  /// How long an answer may take: longer than packets are held, so that later packets benefit.
  private static let supplierPatience = TimeAmount.seconds(10)
}
