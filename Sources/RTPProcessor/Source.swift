import NIOCore
import RTPWire

/// The source that the stream comes from: its numbering, its order and its timeline.
struct Source: Sendable {
  /// What became of a packet of this source.
  enum Outcome: Sendable, Hashable {
    case inOrder
    case parked
    case duplicate
    case late
    /// Its number has nothing to do with where this source stands.
    case renumbered
  }

  /// How a packet came to be here.
  enum Way: Sendable, Hashable {
    /// As it was sent at first.
    case network
    /// Sent again because it was asked for.
    case retransmission
    /// Rebuilt from others.
    case reconstruction
  }

  typealias Ready = CircularBuffer<OrderedPacket>

  /// The largest step forward that counts as loss (RFC 3550 A.1, `MAX_DROPOUT`).
  static let greatestDropout: Int64 = 3000
  /// How long nothing but old packets may come: longer than a network repeats itself, so it must be
  /// a sender that plays a short clip over again, or one whose timestamps stand still.
  static let patienceWithOldPackets: Duration = .milliseconds(500)

  /// Nanoseconds of silence that may be an outage of the network.
  static let shortestOutage: Int64 = 1_000_000_000

  /// The SSRC of its packets.
  private(set) var ssrc: UInt32
  /// The SSRC before the last change that kept the numbering.
  private var formerSSRC: UInt32?
  private(set) var buffer: ReorderBuffer
  private(set) var timeline: MediaTimeline
  private(set) var liveliness: Liveliness
  private var unwrapper: SequenceUnwrapper
  private(set) var highest: Int64
  /// Of the packet that has the highest number.
  private var newestTimestamp: UInt32
  private var history = DeliveryHistory()
  private var lostBefore = 0
  private var startsAfresh = true
  /// Since when nothing has come but packets whose places were passed.
  private var onlyOldSince: Instant?
  /// The first place in the sequence that counts as expected, and what came since (RFC 3550 A.3).
  private var base: Int64
  private var received: Int64 = 0
  /// Since when ``received`` counts.
  private var beginning: Instant
  /// The payload types of packets that have a place in the order and are not handed on.
  private let correctionFormats: [UInt8: CorrectionFormat]
  private let payloadType: UInt8?
  /// False once the timestamps did not go on from those before, so that they mean other times.
  let keepsTimeline: Bool

  /// Begins with `first`, the first of the packets that `prospect` holds, on a timeline that goes on.
  init(
    of prospect: Prospect, first: ReorderBuffer.Entry, timeline: MediaTimeline, newSession: Bool,
    correctionFormats: [UInt8: CorrectionFormat], payloadType: UInt8?
  ) {
    self.payloadType = payloadType
    self.correctionFormats = correctionFormats
    ssrc = prospect.ssrc
    buffer = ReorderBuffer(next: first.sequence)
    unwrapper = SequenceUnwrapper(first: first.packet.sequenceNumber)
    unwrapper.advance(to: first.sequence)
    base = first.sequence
    highest = first.sequence - 1
    newestTimestamp = first.packet.timestamp
    liveliness = Liveliness(first: prospect.lastArrival)
    beginning = prospect.lastArrival
    self.timeline = timeline
    keepsTimeline = self.timeline.restart(
      at: first.packet.timestamp, arrival: first.arrival, newSession: newSession)
  }

  /// What the far end may be told of it; `nil` before its first packet.
  func reception(jitter: UInt32) -> SourceReception? {
    guard highest >= base else { return nil }
    return SourceReception(
      ssrc: ssrc, expected: highest - base + 1, received: received,
      highestSequence: UInt32(truncatingIfNeeded: highest - (base & ~0xFFFF)), jitter: jitter)
  }

  /// Whether `packet`, of another SSRC, goes on where this source stopped.
  func goesOn(with packet: RTPPacket) -> Bool {
    let missing = unwrapper.extend(packet.sequenceNumber) - highest - 1
    guard (0...Int64(Prospect.greatestDistance)).contains(missing),
      let time = timeline.time(of: packet.timestamp),
      let newest = timeline.newest.flatMap(timeline.time(of:))
    else { return false }
    let step = time.ticks.subtractingSaturating(newest.ticks)
    return (0...2 * Int64(timeline.clockRate)).contains(step)
  }

  /// Goes on under another SSRC with the same numbering: Uniview cameras change it with every group
  /// of pictures.
  mutating func rename(to ssrc: UInt32) {
    formerSSRC = self.ssrc
    self.ssrc = ssrc
    // To whoever reads reports it is another source.
    base = highest + 1
    received = 0
    beginning = liveliness.lastArrival
  }

  /// Whether `packet` is of this source: of its SSRC, or missing from before that changed.
  func owns(_ packet: RTPPacket) -> Bool {
    if packet.ssrc == ssrc { return true }
    guard packet.ssrc == formerSSRC else { return false }
    return (buffer.next..<max(highest, buffer.next)).contains(
      unwrapper.extend(packet.sequenceNumber))
  }

  /// How many packets are missing before `first`, with which the source goes on after an outage; `nil` where
  /// it seems to number its packets afresh.
  ///
  /// So many are missing as it would have sent meanwhile, more or less, and so much time of the media.
  func missing(before first: ReorderBuffer.Entry) -> Int? {
    let silence = liveliness.lastArrival.nanoseconds(to: first.arrival)
    let before = beginning.nanoseconds(to: liveliness.lastArrival)
    guard min(silence, before) >= Self.shortestOutage, received > 0 else { return nil }
    let ticks = Double(
      MediaTimeline.difference(from: newestTimestamp, to: first.packet.timestamp))
    let seconds = Double(silence) / 1e9
    guard abs(ticks / Double(timeline.clockRate) - seconds) <= 2 + seconds / 10 else { return nil }
    let expected = Double(received) / Double(before) * Double(silence)
    let period = 65_536.0
    let next = UInt16(truncatingIfNeeded: highest + 1)
    let step = Double(first.packet.sequenceNumber.rawValue &- next)
    let missing = step + period * max(0, ((expected - step) / period).rounded())
    guard (expected * 0.7...expected * 1.4).contains(missing) else { return nil }
    return Int(exactly: missing)
  }

  /// The place of `number`; near the newest one, like every number.
  func extend(_ number: SequenceNumber) -> Int64 { unwrapper.extend(number) }

  /// Whether `packet` has no time of its own: it has that of the newest packet, or of the one before it.
  func sharesTime(_ packet: RTPPacket) -> Bool {
    let before = history.find(unwrapper.extend(packet.sequenceNumber) - 1)
    return packet.timestamp == newestTimestamp || before == .delivered(timestamp: packet.timestamp)
  }

  /// Whether the place of `sequence` is still open and nothing has come for it.
  func lacks(_ sequence: Int64) -> Bool { sequence >= buffer.next && !buffer.holds(sequence) }

  /// Puts `packet` in its place; what is in order then is appended to `ready`.
  ///
  /// A packet that did not come as it was sent says nothing of the network: neither jitter nor
  /// reordering takes it in, and no report counts it.
  mutating func receive(
    _ packet: RTPPacket, at arrival: Instant, way: Way = .network,
    statistics: inout ReceptionStatistics, ready: inout Ready
  ) -> Outcome {
    let sequence = unwrapper.extend(packet.sequenceNumber)
    if sequence < buffer.next {
      if way != .network { return history.find(sequence) == .missing ? .late : .duplicate }
      let outcome = standing(of: packet, behind: sequence, at: arrival)
      if outcome != .renumbered { received += 1 }
      return outcome
    }
    guard sequence - highest <= Self.greatestDropout else { return .renumbered }

    // Gaps that stand open while thousands of packets come are given up to make room.
    while sequence - buffer.next >= ReorderBuffer.span, buffer.count > 0 {
      giveUpGap(statistics: &statistics, ready: &ready)
    }
    if sequence == buffer.next {
      noteArrival(of: packet, sequence: sequence, way, at: arrival, statistics: &statistics)
      buffer.passNext()
      emit(packet, sequence: sequence, at: arrival, statistics: &statistics, ready: &ready)
      if buffer.count > 0 { release(statistics: &statistics, ready: &ready) }
      return .inOrder
    }
    switch buffer.insert(
      ReorderBuffer.Entry(packet: packet.detached(), sequence: sequence, arrival: arrival))
    {
    case .stored:
      noteArrival(of: packet, sequence: sequence, way, at: arrival, statistics: &statistics)
      statistics.held += 1
      return .parked
    case .duplicate:
      if way == .network { received += 1 }
      return .duplicate
    case .beyondSpan:
      return .renumbered
    }
  }

  /// Puts packets in their places that waited while the source was on probation, as they arrived.
  mutating func take(
    _ entries: [ReorderBuffer.Entry], statistics: inout ReceptionStatistics, ready: inout Ready
  ) {
    for entry in entries {
      switch receive(entry.packet, at: entry.arrival, statistics: &statistics, ready: &ready) {
      case .inOrder, .parked: break
      // The prospect jumped again while it was on probation.
      case .duplicate, .late, .renumbered: statistics.unconfirmed += 1
      }
    }
  }

  /// Gives up gaps until no more than `packets` and `bytes` wait.
  mutating func giveUpGaps(
    untilAtMost packets: Int, bytes: Int, statistics: inout ReceptionStatistics,
    ready: inout Ready
  ) {
    while buffer.count > 0, buffer.count > packets || buffer.bytes > bytes {
      giveUpGap(statistics: &statistics, ready: &ready)
    }
  }

  /// Gives up the places before the first packet that waits, and hands that packet on.
  mutating func giveUpGap(statistics: inout ReceptionStatistics, ready: inout Ready) {
    let missing = buffer.skipGap()
    if missing > 0 {
      statistics.noteLoss(of: missing)
      lostBefore += missing
    }
    release(statistics: &statistics, ready: &ready)
  }

  private mutating func noteArrival(
    of packet: RTPPacket, sequence: Int64, _ way: Way, at arrival: Instant,
    statistics: inout ReceptionStatistics
  ) {
    guard way == .network else {
      reached(sequence, packet)
      return
    }
    statistics.noteArrival(arrival, timestamp: packet.timestamp, clockRate: timeline.clockRate)
    liveliness.note(arrival)
    onlyOldSince = nil
    received += 1
    if sequence < highest { statistics.noteReordered(depth: highest - sequence) }
    reached(sequence, packet)
  }

  private mutating func reached(_ sequence: Int64, _ packet: RTPPacket) {
    guard sequence > highest else { return }
    highest = sequence
    newestTimestamp = packet.timestamp
    unwrapper.advance(to: sequence)
  }

  private mutating func release(statistics: inout ReceptionStatistics, ready: inout Ready) {
    while let entry = buffer.popNext() {
      statistics.held -= 1
      emit(
        entry.packet, sequence: entry.sequence, at: entry.arrival, statistics: &statistics,
        ready: &ready)
    }
  }

  private mutating func emit(
    _ packet: RTPPacket, sequence: Int64, at arrival: Instant,
    statistics: inout ReceptionStatistics, ready: inout Ready
  ) {
    history.record(sequence, timestamp: packet.timestamp)
    if !correctionFormats.isEmpty, correctionFormats[packet.payloadType] != nil {
      statistics.correction += 1
      return
    }
    if let payloadType, packet.payloadType != payloadType {
      statistics.noteIgnored(payloadType: packet.payloadType)
      return
    }
    statistics.noteDelivery(arrival)
    ready.append(
      OrderedPacket(
        packet: packet, extendedSequence: sequence,
        time: timeline.place(packet.timestamp, arrival: arrival), arrival: arrival,
        lostBefore: lostBefore, isDiscontinuity: startsAfresh))
    lostBefore = 0
    startsAfresh = false
  }

  /// What a packet is whose place has been passed already.
  ///
  /// A sender that starts to number afresh a little further back looks like a duplicate or a late
  /// packet by its number alone, but not by its timestamp.
  private mutating func standing(
    of packet: RTPPacket, behind sequence: Int64, at arrival: Instant
  ) -> Outcome {
    let since = onlyOldSince ?? arrival
    onlyOldSince = since
    guard arrival < since.advanced(by: Self.patienceWithOldPackets) else { return .renumbered }
    return switch history.find(sequence) {
    case .delivered(packet.timestamp): .duplicate
    case .delivered: .renumbered
    case .missing: timeline.isRecent(packet.timestamp) ? .late : .renumbered
    case .forgotten: .renumbered
    }
  }
}

/// How often a source is heard of, to tell a pause between two frames from its end.
struct Liveliness: Sendable {
  private(set) var lastArrival: Instant
  private var longestGap: Int64 = 0
  /// Until a source has been listened to for a while, it may be one of a frame a second.
  private var longestGapBefore: Int64 = 1_000_000_000
  private var periodStart: Instant

  init(first: Instant) {
    lastArrival = first
    periodStart = first
  }

  mutating func note(_ arrival: Instant) {
    if periodStart.nanoseconds(to: arrival) > 1_000_000_000 {
      longestGapBefore = longestGap
      longestGap = 0
      periodStart = arrival
    }
    longestGap = max(longestGap, lastArrival.nanoseconds(to: arrival))
    lastArrival = max(lastArrival, arrival)
  }

  /// When the silence has become longer than the pauses that this source makes.
  ///
  /// Twice the longest pause of the last seconds, between 0.5 s (no pause that a network makes is
  /// the end of a source) and 2 s.
  var silentFrom: Instant {
    let pause = max(longestGap, longestGapBefore)
    let silence = min(max(pause.addingSaturating(pause), 500_000_000), 2_000_000_000)
    return lastArrival.advanced(byNanoseconds: silence)
  }
}
