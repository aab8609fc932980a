import NIOCore
public import RTPWire

/// The receiving end of one RTP session: datagrams go in as they arrive, packets come out in order.
///
/// A packet that is next in sequence leaves at once. Only a gap makes anything wait, at most for
/// the reorder window, and what waits leaves the moment the gap closes. At the very start, when
/// nobody knows what the first packet is, the wait ends as soon as decoding can begin.
///
/// After each ``receive(_:isEntryPoint:)``, and when ``deadline`` passes, call ``next(at:)`` until
/// it returns `nil`.
public struct RTPProcessor: Sendable {
  /// What bounds the wait, and what belongs to the stream.
  public struct Configuration: Sendable, Hashable {
    /// The longest that a packet waits for an earlier one; zero never waits.
    public var reorderWindow: Duration = .milliseconds(200)
    /// The most packets that wait at once: 200 ms of 10,000 packets a second.
    public var maximumHeldPackets = 2048
    /// The most bytes that wait at once.
    public var maximumHeldBytes = 16 << 20
    /// RTP clock ticks a second, never 0.
    public var clockRate = MediaDescription.videoClockRate
    /// The one payload type that belongs to the stream, or `nil` for any.
    ///
    /// Geovision cameras send packets of type 50 that repeat the sequence number before them, so
    /// other types never reach the order.
    public var payloadType: UInt8?

    public init() {}
  }

  /// How many sources may be on probation at once: garbage must not crowd out a sender, nor memory.
  static let maximumProspects = 8
  /// How long another SSRC may go on beside a living source before its packets are let go.
  static let prospectPatience: Duration = .seconds(1)

  public let configuration: Configuration
  public private(set) var statistics = ReceptionStatistics()
  /// Media time to wall-clock time, as far as sender reports have told.
  public private(set) var clock = ClockMapping()
  /// What became of the sender reports of the current source that were of no use.
  public private(set) var ignoredSenderReports: [ClockMapping.Outcome: UInt64] = [:]
  /// True once the current source has said goodbye (RFC 3550 §6.6) and has sent nothing since.
  public private(set) var hasSaidGoodbye = false

  private var source: Source?
  private var prospects: [Prospect] = []
  private var ready = Source.Ready()

  public init(configuration: Configuration = Configuration()) {
    self.configuration = configuration
  }

  /// The SSRC of the current source, once one has proved itself.
  public var ssrc: UInt32? { source?.ssrc }

  /// When ``next(at:)`` has something to do although nothing arrives; `nil` while nothing waits.
  public var deadline: Instant? {
    var earliest = source?.buffer.oldestArrival?.advanced(by: configuration.reorderWindow)
    for prospect in prospects {
      guard let due = dueTime(of: prospect) else { continue }
      earliest = min(earliest ?? due, due)
    }
    return earliest
  }

  /// Takes in one datagram and says what became of it.
  ///
  /// `isEntryPoint` is asked only while a source is on probation: whether a decoder can begin with
  /// this packet.
  public mutating func receive(
    _ datagram: Datagram, isEntryPoint: (RTPPacket) -> Bool = { _ in false }
  ) -> PacketOutcome {
    statistics.received += 1
    statistics.receivedBytes += UInt64(datagram.bytes.readableBytes)
    if datagram.channel == .control || RTCPPacket.recognizes(datagram.bytes) {
      return receiveControl(datagram)
    }
    let packet: RTPPacket
    do {
      packet = try RTPPacket(parsing: datagram.bytes)
    } catch {
      statistics.malformed += 1
      return .malformed(error)
    }
    if let expected = configuration.payloadType, packet.payloadType != expected {
      statistics.noteIgnored(payloadType: packet.payloadType)
      return .ignoredPayloadType
    }
    let arrival = datagram.arrival
    guard source?.ssrc == packet.ssrc else {
      let kind: Prospect.Kind = source == nil ? .first : .otherSource
      return putOnProbation(packet, as: kind, at: arrival, isEntryPoint: isEntryPoint)
    }
    switch source?.receive(packet, at: arrival, statistics: &statistics, ready: &ready) {
    case .inOrder:
      noteLife()
      return .inOrder
    case .parked:
      noteLife()
      keepBounds()
      return .parked
    case .duplicate:
      statistics.duplicate += 1
      return .duplicate
    case .late:
      statistics.late += 1
      return .late
    case .renumbered, nil:
      return putOnProbation(packet, as: .renumbered, at: arrival, isEntryPoint: isEntryPoint)
    }
  }

  /// The next packet in order, or `nil` when it has yet to come or to be given up.
  public mutating func next(at now: Instant) -> OrderedPacket? {
    while true {
      if let packet = ready.popFirst() { return packet }
      guard let deadline, deadline <= now else { return nil }
      advance(to: now)
    }
  }

  /// Ends the waiting: no more packets will come, so what is held becomes ready, gaps and all.
  public mutating func finish() {
    if source == nil, let index = prospects.firstIndex(where: \.isConfirmed) {
      promote(at: index)
    }
    releaseEverything()
    dismissProspects { _ in true }
  }

  // MARK: - Waiting

  /// Does what is due at `now`; each turn gives up a gap or settles a prospect, so it comes to rest.
  private mutating func advance(to now: Instant) {
    if let oldest = source?.buffer.oldestArrival,
      oldest.advanced(by: configuration.reorderWindow) <= now
    {
      source?.giveUpGap(statistics: &statistics, ready: &ready)
    }
    for index in prospects.indices.reversed() {
      guard let due = dueTime(of: prospects[index]), due <= now else { continue }
      if isReadyToTakeOver(prospects[index], at: now) {
        promote(at: index)
        return
      }
      dismiss(at: index)
    }
  }

  /// When `prospect` is to take over, or to be let go.
  private func dueTime(of prospect: Prospect) -> Instant? {
    let patience = prospect.firstArrival.advanced(by: Self.prospectPatience)
    switch prospect.kind {
    case .first:
      let window = prospect.firstArrival.advanced(by: configuration.reorderWindow)
      return prospect.isConfirmed ? window : nil
    case .otherSource:
      guard prospect.isConfirmed, let source else { return patience }
      return min(patience, max(source.liveliness.silentFrom, prospect.lastArrival))
    case .renumbered:
      return patience
    }
  }

  private func isReadyToTakeOver(_ prospect: Prospect, at now: Instant) -> Bool {
    guard prospect.isConfirmed, let first = prospect.held.first else { return false }
    switch prospect.kind {
    case .first:
      return prospect.beginsAtEntryPoint
        || prospect.firstArrival.advanced(by: configuration.reorderWindow) <= now
        || prospect.held.count >= configuration.maximumHeldPackets
        || prospect.bytes >= configuration.maximumHeldBytes
    case .otherSource:
      guard let source else { return true }
      return source.missing(beforeContinuation: first.packet) != nil
        || source.liveliness.silentFrom <= now
    case .renumbered:
      return true
    }
  }

  private mutating func keepBounds() {
    while source?.holdsMore(
      thanPackets: configuration.maximumHeldPackets, bytes: configuration.maximumHeldBytes) == true
    {
      source?.giveUpGap(statistics: &statistics, ready: &ready)
    }
  }

  private mutating func releaseEverything() {
    while let count = source?.buffer.count, count > 0 {
      source?.giveUpGap(statistics: &statistics, ready: &ready)
    }
  }

  /// The current source is alive in its old numbering, so what lay far from it was a stray.
  private mutating func noteLife() {
    hasSaidGoodbye = false
    if !prospects.isEmpty { dismissProspects { $0.kind == .renumbered } }
  }

  // MARK: - Probation

  private mutating func putOnProbation(
    _ packet: RTPPacket, as kind: Prospect.Kind, at arrival: Instant,
    isEntryPoint: (RTPPacket) -> Bool
  ) -> PacketOutcome {
    let place = prospects.firstIndex { $0.ssrc == packet.ssrc && $0.kind == kind }
    if place == nil, prospects.count >= Self.maximumProspects { dismiss(at: 0) }
    let index = place ?? prospects.count
    if place == nil {
      prospects.append(Prospect(kind: kind, packet: packet, arrival: arrival))
    }
    if prospects[index].held.count >= configuration.maximumHeldPackets
      || prospects[index].bytes >= configuration.maximumHeldBytes
    {
      statistics.foreignSource += 1
      return .foreignSource
    }
    switch prospects[index].hold(packet, arrival: arrival, isEntryPoint: isEntryPoint(packet)) {
    case .duplicate:
      statistics.duplicate += 1
      return .duplicate
    case .unrelated(let count):
      statistics.held -= UInt64(count)
      statistics.unconfirmed += UInt64(count)
    case .none:
      break
    }
    statistics.held += 1
    if isReadyToTakeOver(prospects[index], at: arrival) { promote(at: index) }
    return .probation
  }

  private mutating func promote(at index: Int) {
    let prospect = prospects.remove(at: index)
    guard let first = prospect.held.first else { return }
    var missing: Int?
    if prospect.kind == .otherSource {
      missing = source?.missing(beforeContinuation: first.packet)
      if let missing, missing > 0 { statistics.noteLoss(of: missing) }
    }
    releaseEverything()
    switch prospect.kind {
    case .first: break
    case .otherSource: statistics.sourceChanges += 1
    case .renumbered: statistics.sequenceRestarts += 1
    }
    if prospect.kind == .otherSource { clock.reset() }
    statistics.held -= UInt64(prospect.held.count)
    let timeline = source?.timeline ?? MediaTimeline(clockRate: max(configuration.clockRate, 1))
    var successor = Source(
      of: prospect, first: first, timeline: timeline, continuingAfter: missing)
    successor.take(prospect.held, statistics: &statistics, ready: &ready)
    source = successor
    hasSaidGoodbye = false
    keepBounds()
    if prospect.kind == .first {
      // Whoever was on probation beside it is now a source beside the current one.
      dismissProspects { _ in true }
    }
  }

  private mutating func dismissProspects(where isDismissed: (Prospect) -> Bool) {
    for index in prospects.indices.reversed() where isDismissed(prospects[index]) {
      dismiss(at: index)
    }
  }

  private mutating func dismiss(at index: Int) {
    let prospect = prospects.remove(at: index)
    let count = UInt64(prospect.held.count)
    statistics.held -= count
    if prospect.kind == .otherSource {
      statistics.foreignSource += count
    } else {
      statistics.unconfirmed += count
    }
  }

  // MARK: - RTCP

  private mutating func receiveControl(_ datagram: Datagram) -> PacketOutcome {
    let packets: [RTCPPacket]
    do {
      packets = try RTCPPacket.parse(compound: datagram.bytes)
    } catch {
      statistics.malformedControl += 1
      return .malformedControl(error)
    }
    statistics.control += 1
    for packet in packets {
      switch packet {
      case .senderReport(let report) where report.ssrc == source?.ssrc:
        guard let time = source?.timeline.time(of: report.timestamp) else { continue }
        let outcome = clock.note(report, at: time)
        if outcome != .mapped { ignoredSenderReports[outcome, default: 0] += 1 }
      case .goodbye(let sources):
        if let ssrc = source?.ssrc, sources.contains(ssrc) { hasSaidGoodbye = true }
      default:
        break
      }
    }
    return .control
  }
}
