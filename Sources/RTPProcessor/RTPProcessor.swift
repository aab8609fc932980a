import NIOCore
public import RTPWire

/// The receiving end of one RTP session: datagrams go in as they arrive, packets come out in order.
///
/// A packet that is next in sequence leaves at once. Only a gap makes packets wait, at most for the
/// reorder window, and they leave the moment the gap closes. At the very start, when the first
/// packet is not known, the wait ends as soon as decoding can begin.
///
/// After each ``receive(_:isEntryPoint:)``, and when ``deadline`` passes, call ``next(at:)`` until
/// it returns `nil`.
public struct RTPProcessor: Sendable {
  /// The limits of waiting, and what belongs to the stream.
  public struct Configuration: Sendable, Hashable {
    /// The longest that a packet waits for an earlier one; zero means no waiting.
    public var reorderWindow: Duration = .milliseconds(200)
    /// The most packets that may wait after gaps, and as many on probation: 200 ms at 10,000
    /// packets a second.
    public var maximumHeldPackets = 2048
    /// The most bytes that wait at once.
    public var maximumHeldBytes = 16 << 20
    /// RTP clock ticks a second, never 0.
    public var clockRate = MediaDescription.videoClockRate
    /// The one payload type that belongs to the stream, or `nil` for any.
    ///
    /// Other types never take part in the order: Geovision cameras send packets of type 50 that
    /// repeat the sequence number before them.
    public var payloadType: UInt8?
    /// The payload types of correction packets, from which lost packets are rebuilt.
    public var correctionFormats: [UInt8: CorrectionFormat] = [:]
    /// Whether packets are rebuilt from what comes on `Datagram.Channel.correction`.
    public var hasMatrixCorrection = false
    /// The payload type of RED packets (RFC 2198), or `nil`.
    ///
    /// Their primary encodings are processed as packets.
    public var redundancyPayloadType: UInt8?
    /// The payload types of retransmission packets (RFC 4588), and what they repeat.
    public var retransmissionFormats: [UInt8: RetransmissionFormat] = [:]
    /// The same on `Datagram.Channel.retransmission`.
    ///
    /// If it is empty, every packet there repeats the media; `nil` ignores that channel.
    public var retransmissionSession: [UInt8: RetransmissionFormat]?
    /// What the sender may be asked for.
    ///
    /// With a reorder window of zero, no packets are requested.
    public var feedback: Set<FeedbackRequest> = []

    public init() {}
  }

  public internal(set) var configuration: Configuration
  public internal(set) var statistics = ReceptionStatistics()
  /// Media time to wall-clock time, from sender reports.
  public internal(set) var clock = ClockMapping()
  /// How many sender reports of the current source were unusable, by reason.
  var ignoredSenderReports: [ClockMapping.Outcome: UInt64] = [:]
  /// Whether the current source has sent an RTCP BYE (RFC 3550 §6.6), and then at most packets that
  /// it has overtaken.
  public var hasSaidGoodbye: Bool { goodbye != nil }
  /// When that came.
  var goodbye: Instant?
  /// How long packets may still come after an RTCP BYE that has overtaken them.
  public static let goodbyeGrace: Duration = .milliseconds(500)

  var source: Source?
  /// How often a prospect became the source, or its new numbering.
  var promotions: UInt64 = 0
  var ready = Source.Ready()
  /// What rebuilds the packets of the current source; `nil` until there is something to rebuild
  /// from.
  var correction: ForwardErrorCorrection?
  /// Which packets are asked for; `nil` where none may be.
  var repair: RepairSchedule?
  /// Requests packets whose loss no later packet shows.
  var tail = TailWatch()
  var keyPictures: KeyPictureRequests
  var prospects: [Prospect] = []
  /// The timeline of the previous session.
  var formerTimeline: MediaTimeline?
  /// The newest report of the current source, whatever its wall clock says.
  var lastReport: SenderReportArrival?
  var senderAccount = SenderAccount()
  var earlyReports = EarlyReports()
  var numberedTypes = NumberedTypes()

  public init(configuration: Configuration = Configuration()) {
    self.configuration = configuration
    keyPictures = KeyPictureRequests(configuration.feedback)
    guard configuration.feedback.contains(.nack), configuration.reorderWindow > .zero else {
      return
    }
    let formats =
      Array(configuration.retransmissionFormats.values)
      + Array((configuration.retransmissionSession ?? [:]).values)
    repair = RepairSchedule(memory: formats.compactMap(\.time).min())
  }

  /// Begins a session after `former`, which is over: another connection, perhaps another sender.
  ///
  /// No packets are carried over. The totals continue, and so does the media time, also by a clock
  /// of another rate.
  public init(configuration: Configuration, after former: RTPProcessor) {
    self.init(configuration: configuration)
    statistics = former.statistics
    ignoredSenderReports = former.ignoredSenderReports
    promotions = former.promotions
    let rate = max(configuration.clockRate, 1)
    let timeline = former.source?.timeline ?? former.formerTimeline
    formerTimeline = timeline?.clockRate == rate ? timeline : timeline?.counted(at: rate)
  }

  /// The SSRC of the current source, once one is validated.
  public var ssrc: UInt32? { source?.ssrc }

  /// The figures of a receiver report about the current source (RFC 3550 §6.4.1); `nil` without a
  /// source.
  public var reception: SourceReception? {
    var reception = source?.reception(jitter: UInt32(clamping: statistics.scaledJitter >> 4))
    reception?.lastSenderReport = lastReport
    reception?.count = promotions
    return reception
  }

  /// When ``next(at:)`` must be called even if nothing arrives; `nil` while nothing waits.
  public var deadline: Instant? {
    var earliest = gapDeadline
    for index in prospects.indices where prospects[index].isConfirmed {
      let due = dueTime(of: prospects[index])
      earliest = min(earliest ?? due, due)
    }
    return earliest
  }

  /// Processes one datagram and returns its outcome.
  ///
  /// `isEntryPoint` says whether a decoder can begin with a packet; it is called only while a
  /// source is on probation.
  public mutating func receive(
    _ datagram: Datagram, isEntryPoint: (RTPPacket) -> Bool = { _ in false }
  ) -> PacketOutcome {
    let bytes = datagram.bytes
    statistics.received += 1
    statistics.receivedBytes += UInt64(bytes.readableBytes)
    switch datagram.channel {
    case .correction:
      statistics.correction += 1
      correct(withMatrix: bytes, at: datagram.arrival)
      return .correction
    case .retransmission:
      return receiveRetransmission(inSessionOfItsOwn: datagram)
    case .control:
      return receiveControl(bytes, at: datagram.arrival)
    case .media:
      if datagram.isControl { return receiveControl(bytes, at: datagram.arrival) }
    }
    var packet: RTPPacket
    do {
      packet = try datagram.packet()
    } catch {
      statistics.malformed += 1
      return .malformed(error)
    }
    if packet.payloadType == configuration.redundancyPayloadType {
      packet = packet.primaryEncoding ?? packet
    }
    if !configuration.retransmissionFormats.isEmpty,
      let format = configuration.retransmissionFormats[packet.payloadType]
    {
      return receiveRetransmission(packet, of: format, at: datagram.arrival)
    }
    let format =
      configuration.correctionFormats.isEmpty
      ? nil : configuration.correctionFormats[packet.payloadType]
    if let format, !format.isNumberedWithMedia {
      statistics.correction += 1
      correct(with: packet, of: format, at: datagram.arrival)
      return .correction
    }
    if let expected = configuration.payloadType, packet.payloadType != expected, format == nil {
      receive(ofOtherType: packet, at: datagram.arrival)
      return .ignoredPayloadType
    }
    let outcome = place(packet, at: datagram.arrival, isEntryPoint: isEntryPoint)
    correct(with: packet, outcome, at: datagram.arrival)
    return outcome
  }

  /// Handles a packet whose type is not the media's.
  ///
  /// It is ignored; if the type shares the media's numbering, its place in the sequence is skipped
  /// too.
  private mutating func receive(ofOtherType packet: RTPPacket, at arrival: Instant) {
    // A packet with its own timestamp may be a picture, and its absence a loss.
    guard let source, packet.ssrc == source.ssrc, source.sharesTime(packet),
      NumberedTypes.reach.contains(source.extend(packet.sequenceNumber) - source.highest),
      numberedTypes.takes(packet, isOpen: source.lacks(source.extend(packet.sequenceNumber)))
    else { return statistics.noteIgnored(payloadType: packet.payloadType) }
    for earlier in numberedTypes.takeWaiting(of: packet.payloadType)
    where earlier.ssrc == packet.ssrc && source.lacks(source.extend(earlier.sequenceNumber)) {
      statistics.forgetIgnored(payloadType: earlier.payloadType)
      _ = place(earlier, at: arrival) { _ in false }
    }
    _ = place(packet, at: arrival) { _ in false }
  }

  /// Processes a packet that arrived, or was rebuilt, in the given `way`, and returns its outcome.
  mutating func receiveRecovered(
    _ packet: RTPPacket, _ way: Source.Way, at arrival: Instant, isEntryPoint: (RTPPacket) -> Bool
  ) -> PacketOutcome {
    statistics.recovered += 1
    return place(packet, way, at: arrival, isEntryPoint: isEntryPoint)
  }

  private mutating func place(
    _ packet: RTPPacket, _ way: Source.Way? = nil, at arrival: Instant,
    isEntryPoint: (RTPPacket) -> Bool
  ) -> PacketOutcome {
    // A function that changes nothing is called on a copy of its value, which takes longer than all
    // else here. So what suffices for most packets is asked first.
    guard source?.ssrc == packet.ssrc || source?.owns(packet) == true,
      let highest = source?.highest
    else { return putOnProbation(packet, at: arrival, isEntryPoint: isEntryPoint) }
    let way = way ?? (repair == nil ? .network : self.way(of: packet))
    let mayBeAnswer = repair != nil && self.mayBeAnswer(packet)
    let outcome = source?.receive(
      packet, at: arrival, way: way, mayBeAnswer: mayBeAnswer, statistics: &statistics,
      ready: &ready)
    if repair != nil, outcome != .renumbered {
      noteRepair(of: packet, way, highest: highest, at: arrival)
    }
    if way != .network, outcome == .inOrder || outcome == .parked { statistics.filled += 1 }
    switch outcome {
    case .inOrder:
      noteLife(way, at: arrival)
      return .inOrder
    case .parked:
      noteLife(way, at: arrival)
      keepBounds()
      return .parked
    case .duplicate:
      statistics.duplicate += 1
      return .duplicate
    case .overtaken:
      statistics.overtaken += 1
      return .overtaken
    case .late:
      statistics.late += 1
      return .late
    case .renumbered, nil:
      return putOnProbation(packet, at: arrival, isEntryPoint: isEntryPoint)
    }
  }

  /// The next packet in order, or `nil` while it is neither here nor given up.
  public mutating func next(at now: Instant) -> OrderedPacket? {
    while true {
      if let packet = ready.popFirst() { return packet }
      // Most often nothing waits, and the deadline would be asked of a copy.
      guard !prospects.isEmpty || source?.buffer.count ?? 0 > 0 else { return nil }
      guard let deadline, deadline <= now else { return nil }
      advance(to: now)
    }
  }

  /// Ends all waiting: no more packets will come, so everything held becomes ready, gaps included.
  ///
  /// - Parameters:
  ///   - now: the time; `nil` if it is that of the last packet.
  ///   - isWhole: whether the sender has certainly sent no more, so that a single packet may be all
  ///     of the stream.
  public mutating func finish(at now: Instant? = nil, isWhole: Bool = false) {
    if isWhole, source == nil, prospects.count == 1 { promote(at: prospects.startIndex) }
    // What succeeds the current source may have a successor itself.
    while let index = prospects.firstIndex(where: { $0.isConfirmed && isAlone($0, at: now) }) {
      promote(at: index)
    }
    releaseEverything()
    while !prospects.isEmpty { dismiss(at: 0) }
  }

  // MARK: - Waiting

  /// Does whatever is due at `now`.
  ///
  /// Each turn gives up a gap or settles a prospect, so the loop ends.
  private mutating func advance(to now: Instant) {
    if let gapDeadline, gapDeadline <= now {
      source?.giveUpGap(statistics: &statistics, ready: &ready)
      repair?.close(before: source?.buffer.next ?? 0)
    }
    // The oldest first: of two senders that start together, the first one stays.
    let due = prospects.firstIndex { $0.isConfirmed && dueTime(of: $0) <= now }
    guard let index = due else { return }
    if isReadyToTakeOver(prospects[index], at: now) {
      promote(at: index)
    } else {
      dismiss(at: index)
    }
  }

  mutating func keepBounds() {
    source?.giveUpGaps(
      untilAtMost: configuration.maximumHeldPackets, bytes: configuration.maximumHeldBytes,
      statistics: &statistics, ready: &ready)
    repair?.close(before: source?.buffer.next ?? 0)
  }

  mutating func releaseEverything() {
    source?.giveUpGaps(untilAtMost: 0, bytes: 0, statistics: &statistics, ready: &ready)
  }

  /// Whether a packet that comes at `arrival` shows that its source goes on after `goodbye`.
  static func isRevoked(_ goodbye: Instant?, by arrival: Instant) -> Bool {
    goodbye.map { $0.advanced(by: goodbyeGrace) < arrival } ?? false
  }

  /// The current source continues in its old numbering, so packets far from it were strays, unless
  /// the network has put this one behind them.
  ///
  /// A retransmission may follow the RTCP BYE without revoking it, and a restart likewise.
  private mutating func noteLife(_ way: Source.Way, at arrival: Instant) {
    guard way == .network else { return }
    if Self.isRevoked(goodbye, by: arrival) { goodbye = nil }
    if prospects.isEmpty { return }
    let current = ssrc
    guard let index = prospects.firstIndex(where: { $0.ssrc == current }) else { return }
    let mayBeRestart = prospects[index].disturb(
      at: arrival, reorderWindow: configuration.reorderWindow)
    if !mayBeRestart { dismiss(at: index) }
  }
}
