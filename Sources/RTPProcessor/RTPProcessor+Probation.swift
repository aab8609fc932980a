import RTPWire

/// Source validation (RFC 3550 §A.1): when a source is accepted, succeeds another, or restarts its
/// numbering.
extension RTPProcessor {
  /// How many sources may be on probation at once.
  ///
  /// Garbage must neither crowd out a sender nor fill the memory.
  static let maximumProspects = 64
  /// How long another SSRC may send beside an active source before its packets are dropped: as long
  /// as it may take to be sure that the current source is silent.
  static let prospectPatience: Duration = .seconds(2)

  /// What a prospect becomes once it is validated.
  private enum Claim {
    /// The first source of all.
    case first
    /// The source after the current one.
    case succession
    /// The current source, far from where its numbers should be.
    case newNumbering
  }

  private func claim(of prospect: Prospect) -> Claim {
    guard let ssrc else { return .first }
    return prospect.ssrc == ssrc ? .newNumbering : .succession
  }

  /// Whether all prospects together hold as much as one source may.
  private var isProbationFull: Bool {
    prospects.reduce(0) { $0 + $1.held.count } >= configuration.maximumHeldPackets
      || prospects.reduce(0) { $0 + $1.bytes } >= configuration.maximumHeldBytes
  }

  mutating func putOnProbation(
    _ packet: RTPPacket, at arrival: Instant, isEntryPoint: (RTPPacket) -> Bool
  ) -> PacketOutcome {
    let index = place(for: packet, at: arrival)
    if prospects[index].isConfirmed, isProbationFull {
      statistics.foreignSource += 1
      return .foreignSource
    }
    let isEntryPoint =
      configuration.correctionFormats[packet.payloadType] == nil && isEntryPoint(packet)
    switch prospects[index].hold(packet, arrival: arrival, isEntryPoint: isEntryPoint) {
    case .held:
      statistics.held += 1
    case .heldInstead(let count):
      statistics.held += 1
      statistics.held -= UInt64(count)
      statistics.unconfirmed += UInt64(count)
    case .duplicate:
      statistics.duplicate += 1
      return .duplicate
    case .stray:
      statistics.unconfirmed += 1
    }
    if isReadyToTakeOver(prospects[index], at: arrival) {
      promote(at: firstToTakeOver(upTo: index, at: arrival))
    }
    return .probation
  }

  /// Which prospect takes over where the one at `index`, of which a packet has come, is ready to.
  ///
  /// After a silence it is the oldest that is ready, as when time has passed without a packet: a
  /// sender that changes its SSRC twice meanwhile is followed through all of them, and nobody gets
  /// ahead by sending at the right moment. Only what continues the current source comes before.
  private func firstToTakeOver(upTo index: Int, at arrival: Instant) -> Int {
    let newest = prospects[index]
    guard claim(of: newest) == .succession, let first = newest.first,
      source?.continuesNumbering(with: first.packet) == false
    else { return index }
    return prospects[..<index].firstIndex { isReadyToTakeOver($0, at: arrival) } ?? index
  }

  /// Accepts a first source whose packet RTCP confirms: a stream may have only one.
  ///
  /// Once there is a source, two packets must speak for another.
  mutating func validate(_ named: [UInt32], at arrival: Instant) {
    guard source == nil,
      let index = prospects.firstIndex(where: { named.contains($0.ssrc) })
    else { return }
    prospects[index].isNamed = true
    if isReadyToTakeOver(prospects[index], at: arrival) { promote(at: index) }
  }

  /// The index of `packet`'s source among the prospects; another one makes room if necessary.
  private mutating func place(for packet: RTPPacket, at arrival: Instant) -> Int {
    if let index = prospects.firstIndex(where: { $0.ssrc == packet.ssrc }) { return index }
    if prospects.count >= Self.maximumProspects {
      // A prospect with a single packet is the least loss, unless it is a restart of the current
      // source.
      let current = ssrc
      dismiss(at: prospects.firstIndex { !$0.isConfirmed && $0.ssrc != current } ?? 0)
    }
    prospects.append(Prospect(packet: packet, arrival: arrival))
    return prospects.count - 1
  }

  /// When `prospect`, which is validated, takes over or is dropped.
  func dueTime(of prospect: Prospect) -> Instant {
    guard let source, prospect.ssrc != source.ssrc else {
      return prospect.undisturbedSince.advanced(by: configuration.reorderWindow)
    }
    if hasSaidGoodbye { return prospect.lastArrival }
    let patience = prospect.firstArrival.advanced(by: Self.prospectPatience)
    return min(patience, max(source.liveliness.silentFrom, prospect.lastArrival))
  }

  func isReadyToTakeOver(_ prospect: Prospect, at now: Instant) -> Bool {
    guard prospect.isConfirmed, let first = prospect.first else { return false }
    switch claim(of: prospect) {
    // Behind a restart, too, the first packet may come late.
    case .first, .newNumbering:
      return prospect.beginsAtEntryPoint || isProbationFull
        || prospect.undisturbedSince.advanced(by: configuration.reorderWindow) <= now
    case .succession:
      guard let source, !hasSaidGoodbye else { return true }
      if source.continuesNumbering(with: first.packet) || source.liveliness.silentFrom <= now {
        return true
      }
      // What a fast sender sends until the silence is certain would not fit. Behind a pause of the
      // network, packets come within the window.
      return isProbationFull && isAlone(prospect, at: now)
        && source.liveliness.lastArrival.advanced(by: configuration.reorderWindow) <= now
    }
  }

  /// Whether only `prospect` has sent since the current source paused, so that it would soon have
  /// succeeded it.
  func isAlone(_ prospect: Prospect, at now: Instant?) -> Bool {
    guard let source else { return true }
    return source.liveliness.lastArrival < prospect.undisturbedSince
      && source.liveliness.pausesUnusually(
        at: max(prospect.lastArrival, now ?? prospect.lastArrival))
  }

  mutating func promote(at index: Int) {
    guard let first = prospects[index].first else { return }
    let claim = claim(of: prospects[index])
    let continuesNumbering =
      claim == .succession && source?.continuesNumbering(with: first.packet) ?? false
    let outage = claim == .newNumbering ? source?.missing(before: first) : nil
    let prospect = prospects.remove(at: index)
    promotions += 1
    statistics.held -= UInt64(prospect.held.count)
    switch claim {
    case .first: break
    case .newNumbering: if outage == nil { statistics.sequenceRestarts += 1 }
    case .succession: statistics.sourceChanges += 1
    }
    if continuesNumbering {
      source?.rename(to: prospect.ssrc)
    } else {
      replaceSource(by: prospect, first: first)
      if let outage, outage > 0 { statistics.noteLoss(of: outage) }
      if claim == .succession || source?.keepsTimeline == false { clock.reset() }
    }
    if claim != .newNumbering { lastReport = nil }
    senderAccount = SenderAccount()
    goodbye = prospect.goodbye
    repair?.forgetPlaces(isOther: claim == .succession && !continuesNumbering)
    tail.forget()
    let highest = source?.highest ?? 0
    source?.take(prospect.held, statistics: &statistics, ready: &ready)
    noticeGaps(behind: highest, at: prospect.lastArrival)
    correct(with: prospect.held)
    keepBounds()
    if let report = earlyReports.take(of: prospect.ssrc) { note(report) }
    // The other candidates for the first source were not the sender.
    if claim == .first { while !prospects.isEmpty { dismiss(at: 0) } }
  }

  private mutating func replaceSource(by prospect: Prospect, first: ReorderBuffer.Entry) {
    releaseEverything()
    let former = ssrc
    statistics.beginTransit(ofAnotherSource: prospect.ssrc != former)
    let timeline =
      source?.timeline ?? formerTimeline
      ?? MediaTimeline(clockRate: max(configuration.clockRate, 1))
    let followsOther = former != nil && former != prospect.ssrc
    source = Source(
      of: prospect, first: first, timeline: timeline,
      newSession: source == nil && formerTimeline != nil, followsOther: followsOther,
      correctionFormats: configuration.correctionFormats, payloadType: configuration.payloadType)
    correction = nil
  }

  mutating func dismiss(at index: Int) {
    let claim = claim(of: prospects[index])
    let count = UInt64(prospects.remove(at: index).held.count)
    statistics.held -= count
    switch claim {
    case .first, .newNumbering: statistics.unconfirmed += count
    case .succession: statistics.foreignSource += count
    }
  }
}
