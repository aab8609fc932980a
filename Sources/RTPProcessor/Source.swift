import RTPWire

/// The source of the stream: its numbering, its order and its timeline.
struct Source: Sendable {
  /// The result of a packet of this source.
  enum Outcome: Sendable, Hashable {
    case inOrder
    case parked
    case duplicate
    /// It had been rebuilt or sent again.
    case overtaken
    case late
    /// Its number is far from this source's current position.
    case renumbered
  }

  /// How a packet was obtained.
  enum Way: Sendable, Hashable {
    /// Received as first sent.
    case network
    /// Sent again on request.
    case retransmission
    /// Rebuilt from others.
    case reconstruction
  }

  /// How long only old packets may come before they count as a restart.
  ///
  /// No network repeats packets for longer: the sender replays a short clip, or its timestamps are
  /// stuck.
  static let patienceWithOldPackets: Duration = .milliseconds(500)

  /// More media than the greatest loss takes where arrival times say nothing, as in files without
  /// times: thrice that of 3,000 packets of sound.
  static let longestLoss: Duration = .seconds(300)

  /// The SSRC of its packets.
  private(set) var ssrc: UInt32
  /// The SSRC before the last change that kept the numbering.
  private var formerSSRC: UInt32?
  private(set) var buffer: ReorderBuffer
  private(set) var timeline: MediaTimeline
  private(set) var liveliness: Liveliness
  private var unwrapper: SequenceUnwrapper
  private(set) var highest: Int64
  /// The timestamp of the packet with the highest number.
  private var newestTimestamp: UInt32
  private var history = DeliveryHistory()
  private var lostBefore = 0
  /// Late and duplicate packets since the last one in order.
  private var lateBefore: UInt16 = 0
  private var duplicatesBefore: UInt16 = 0
  private var startsAfresh = true
  /// Whether it took the place of another source.
  private let followsOther: Bool
  /// Since when only packets with past numbers have come.
  private var onlyOldSince: Instant?
  /// The first sequence number that counts as expected (RFC 3550 A.3).
  private var base: Int64
  private var received: Int64 = 0
  private var pace: SendingPace
  /// The payload types of packets that are numbered with the media but not delivered.
  private let correctionFormats: [UInt8: CorrectionFormat]
  /// The payload type of what is delivered; `nil` for any.
  var payloadType: UInt8?
  /// False once the timestamps jumped, so that earlier reports no longer apply.
  let keepsTimeline: Bool

  /// Begins with `first`, the first packet that `prospect` holds, on a timeline that continues.
  init(
    of prospect: Prospect, first: ReorderBuffer.Entry, timeline: MediaTimeline, newSession: Bool,
    followsOther: Bool, correctionFormats: [UInt8: CorrectionFormat], payloadType: UInt8?
  ) {
    self.payloadType = payloadType
    self.correctionFormats = correctionFormats
    self.followsOther = followsOther
    ssrc = prospect.ssrc
    buffer = ReorderBuffer(next: first.sequence)
    unwrapper = SequenceUnwrapper(first: first.packet.sequenceNumber)
    unwrapper.advance(to: first.sequence)
    base = first.sequence
    highest = first.sequence - 1
    newestTimestamp = first.packet.timestamp
    liveliness = Liveliness(first: prospect.lastArrival)
    pace = SendingPace(from: prospect.lastArrival, highest: highest)
    self.timeline = timeline
    keepsTimeline = self.timeline.restart(
      at: first.packet.timestamp, arrival: first.arrival, newSession: newSession)
  }

  /// The figures for receiver reports; `nil` before the first packet.
  func reception(jitter: UInt32) -> SourceReception? {
    guard highest >= base else { return nil }
    return SourceReception(
      ssrc: ssrc, expected: highest - base + 1, received: received,
      highestSequence: UInt32(truncatingIfNeeded: highest - (base & ~0xFFFF)), jitter: jitter)
  }

  /// Whether `packet`, of another SSRC, continues where this source stopped.
  func continuesNumbering(with packet: RTPPacket) -> Bool {
    let missing = unwrapper.extend(packet.sequenceNumber) - highest - 1
    guard (0...Int64(SourceProof.usualReach)).contains(missing),
      let time = timeline.time(of: packet.timestamp),
      let newest = timeline.newest.flatMap(timeline.time(of:))
    else { return false }
    let step = time.ticks.subtractingSaturating(newest.ticks)
    // As many times with B pictures as without, so that a stranger hits them no more often.
    let second = Int64(timeline.clockRate)
    return (timeline.stepsBack ? -second...second : 0...2 * second).contains(step)
  }

  /// Continues under another SSRC with the same numbering: Uniview cameras change the SSRC with
  /// every group of pictures.
  mutating func rename(to ssrc: UInt32) {
    formerSSRC = self.ssrc
    self.ssrc = ssrc
    // For receiver reports it is another source.
    base = highest + 1
    received = 0
    pace = SendingPace(from: liveliness.lastArrival, highest: highest)
  }

  /// Whether `packet` is of this source: it has its SSRC, or the former one and a number that is
  /// missing.
  func owns(_ packet: RTPPacket) -> Bool {
    if packet.ssrc == ssrc { return true }
    guard packet.ssrc == formerSSRC else { return false }
    return (buffer.next..<max(highest, buffer.next)).contains(
      unwrapper.extend(packet.sequenceNumber))
  }

  /// How many packets are missing before `first`, the first packet after an outage; `nil` if the
  /// source seems to have restarted its numbering.
  ///
  /// It is an outage if about as many packets are missing as the source would have sent meanwhile,
  /// at the pace of the last seconds, and about as much media time.
  func missing(before first: ReorderBuffer.Entry) -> Int? {
    let last = liveliness.lastArrival
    let silence = last.duration(to: first.arrival)
    guard let expected = pace.packets(during: silence, after: last, highest: highest) else {
      return nil
    }
    let ticks = Double(
      MediaTimeline.difference(from: newestTimestamp, to: first.packet.timestamp))
    let seconds = silence / .seconds(1)
    guard abs(ticks / Double(timeline.clockRate) - seconds) <= 2 + seconds / 10 else { return nil }
    let next = SequenceNumber(UInt16(truncatingIfNeeded: highest + 1))
    return next.missing(before: first.packet.sequenceNumber, expected: expected)
  }

  /// Whether the source seems to have begun anew with `packet`, whose number is a little ahead.
  ///
  /// By its number it looks like the first packet after a loss, but not by its timestamp: no loss
  /// that can be bridged takes as much media. The times of B pictures step back.
  private func beginsAnew(with packet: RTPPacket, arrival: Instant) -> Bool {
    let step = Int64(MediaTimeline.difference(from: newestTimestamp, to: packet.timestamp))
    let seconds = Duration.seconds(step / Int64(timeline.clockRate))
    let silence = liveliness.lastArrival.duration(to: arrival)
    return seconds < .seconds(-MediaTimeline.memory) || seconds > Self.longestLoss + silence
  }

  /// The place of `number`; near the newest one, like every number.
  func extend(_ number: SequenceNumber) -> Int64 { unwrapper.extend(number) }

  /// Whether `packet` shares its timestamp with the newest packet or the one before it.
  func sharesTime(_ packet: RTPPacket) -> Bool {
    if packet.timestamp == newestTimestamp { return true }
    let before = history.find(unwrapper.extend(packet.sequenceNumber) - 1)
    return if case .delivered(packet.timestamp, _) = before { true } else { false }
  }

  /// Whether `timestamp` is near that of the newest packet, or of the last one before the first
  /// gap, as those of missing packets are.
  func isNear(_ timestamp: UInt32) -> Bool {
    func isNear(to other: UInt32) -> Bool {
      let distance = MediaTimeline.difference(from: other, to: timestamp)
      return Int64(distance.magnitude) <= MediaTimeline.memory * Int64(timeline.clockRate)
    }
    if case .delivered(let before, _) = history.find(buffer.next - 1), isNear(to: before) {
      return true
    }
    return isNear(to: newestTimestamp)
  }

  /// Whether the packet `sequence` is still missing and not given up.
  func lacks(_ sequence: Int64) -> Bool { sequence >= buffer.next && !buffer.holds(sequence) }

  /// Inserts `packet`, and appends what is then to `ready`.
  ///
  /// A packet that was rebuilt or sent again says nothing about the network: it counts neither for
  /// jitter nor for reordering nor in reports. With `mayBeAnswer`, one from the network may have
  /// been sent again too.
  mutating func receive(
    _ packet: RTPPacket, at arrival: Instant, way: Way = .network, mayBeAnswer: Bool = false,
    statistics: inout ReceptionStatistics, ready: inout Ready
  ) -> Outcome {
    let outcome = insert(
      packet, at: arrival, way: way, mayBeAnswer: mayBeAnswer, statistics: &statistics,
      ready: &ready)
    switch outcome {
    case .late: lateBefore = lateBefore.addingSaturating(1)
    case .duplicate: duplicatesBefore = duplicatesBefore.addingSaturating(1)
    case .inOrder, .parked, .overtaken, .renumbered: break
    }
    return outcome
  }

  private mutating func insert(
    _ packet: RTPPacket, at arrival: Instant, way: Way, mayBeAnswer: Bool,
    statistics: inout ReceptionStatistics, ready: inout Ready
  ) -> Outcome {
    let sequence = unwrapper.extend(packet.sequenceNumber)
    if sequence < buffer.next {
      if way != .network { return history.find(sequence) == .missing ? .late : .duplicate }
      let outcome = standing(of: packet, behind: sequence, at: arrival)
      if outcome != .renumbered { received += 1 }
      if outcome == .overtaken {
        if mayBeAnswer { return .duplicate }
        history.noteOriginal(sequence, timestamp: packet.timestamp)
        statistics.noteReordered(depth: highest - sequence)
      }
      return outcome
    }
    // Where few packets are missing the timestamp is not asked, because cameras also set their
    // clocks in the middle of a stream.
    guard sequence - highest <= SourceProof.greatestDropout,
      way != .network || sequence - highest <= Int64(SourceProof.usualReach)
        || !beginsAnew(with: packet, arrival: arrival)
    else { return .renumbered }

    // Gaps that stay open while thousands of packets arrive are given up to make room.
    while sequence - buffer.next >= ReorderBuffer.span, buffer.count > 0 {
      giveUpGap(statistics: &statistics, ready: &ready)
    }
    if sequence == buffer.next {
      noteArrival(of: packet, sequence: sequence, way, at: arrival, statistics: &statistics)
      buffer.passNext()
      emit(
        packet, sequence: sequence, at: arrival, isRepaired: way != .network,
        statistics: &statistics, ready: &ready)
      if buffer.count > 0 { release(statistics: &statistics, ready: &ready) }
      return .inOrder
    }
    let entry = ReorderBuffer.Entry(
      packet: packet.detached(), sequence: sequence, arrival: arrival, isRepaired: way != .network)
    switch buffer.insert(.packet(entry), at: arrival) {
    case .stored:
      noteArrival(of: packet, sequence: sequence, way, at: arrival, statistics: &statistics)
      statistics.held += 1
      return .parked
    case .duplicate:
      guard way == .network else { return .duplicate }
      received += 1
      guard !mayBeAnswer, buffer.noteOriginal(sequence, timestamp: packet.timestamp) else {
        return .duplicate
      }
      statistics.noteReordered(depth: highest - sequence)
      return .overtaken
    case .beyondSpan:
      return .renumbered
    }
  }

  /// Closes the place `sequence`, whose packet was a lost correction packet; false where it is not
  /// open.
  mutating func close(
    _ sequence: Int64, at arrival: Instant, statistics: inout ReceptionStatistics,
    ready: inout Ready
  ) -> Bool {
    guard lacks(sequence), sequence < highest else { return false }
    if sequence == buffer.next {
      buffer.passNext()
      history.record(sequence, timestamp: nil)
      release(statistics: &statistics, ready: &ready)
    } else if buffer.insert(.lostCorrection(sequence: sequence), at: arrival) != .stored {
      return false
    }
    statistics.unneeded += 1
    return true
  }

  /// Inserts the packets that waited while the source was on probation, in order of arrival.
  mutating func take(
    _ entries: [ReorderBuffer.Entry], statistics: inout ReceptionStatistics, ready: inout Ready
  ) {
    for entry in entries {
      switch receive(entry.packet, at: entry.arrival, statistics: &statistics, ready: &ready) {
      case .inOrder, .parked: break
      // The prospect jumped again while it was on probation.
      case .duplicate, .overtaken, .late, .renumbered: statistics.unconfirmed += 1
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

  /// Gives up the numbers before the first waiting packet, and delivers that packet.
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
    // What is numbered with the media, but of another type, does not show that the media goes on.
    if payloadType == nil || packet.payloadType == payloadType { liveliness.note(arrival) }
    onlyOldSince = nil
    received += 1
    pace.note(arrival, highest: max(highest, sequence))
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
    while let occupant = buffer.popNext() {
      switch occupant {
      case .packet(let entry):
        statistics.held -= 1
        emit(
          entry.packet, sequence: entry.sequence, at: entry.arrival, isRepaired: entry.isRepaired,
          statistics: &statistics, ready: &ready)
      case .lostCorrection(let sequence):
        history.record(sequence, timestamp: nil)
      }
    }
  }

  private mutating func emit(
    _ packet: RTPPacket, sequence: Int64, at arrival: Instant, isRepaired: Bool,
    statistics: inout ReceptionStatistics, ready: inout Ready
  ) {
    history.record(sequence, timestamp: packet.timestamp, isRepaired: isRepaired)
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
        lostBefore: lostBefore, isDiscontinuity: startsAfresh,
        beginsOtherSource: startsAfresh && followsOther, isRepaired: isRepaired,
        lateBefore: lateBefore, duplicatesBefore: duplicatesBefore))
    (lostBefore, lateBefore, duplicatesBefore) = (0, 0, 0)
    startsAfresh = false
  }

  /// Judges a packet whose number is in the past.
  ///
  /// A sender that restarts its numbering a little further back looks like a duplicate or a late
  /// packet by its number, but not by its timestamp.
  private mutating func standing(
    of packet: RTPPacket, behind sequence: Int64, at arrival: Instant
  ) -> Outcome {
    let since = onlyOldSince ?? arrival
    onlyOldSince = since
    guard arrival < since.advanced(by: Self.patienceWithOldPackets) else { return .renumbered }
    return switch history.find(sequence) {
    case .delivered(packet.timestamp, isRepaired: true): .overtaken
    case .delivered(packet.timestamp, isRepaired: false), .closed: .duplicate
    case .delivered: .renumbered
    case .missing: timeline.mayLack(packet.timestamp) ? .late : .renumbered
    case .forgotten: .renumbered
    }
  }
}
