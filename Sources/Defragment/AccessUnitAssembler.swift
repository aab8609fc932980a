import Bitstream
import NIOCore
import RTPWire

/// Assembles NAL units into access units and decides where each one ends.
///
/// A unit ends with the marker, the next timestamp, or a NAL unit that can only begin the next one,
/// whichever comes first; a marker that may be wrong waits for what follows it (``MarkerTrust``).
/// It does not end before it has a picture: Reolink and Tapo cameras set the marker on parameter
/// sets, and give them the timestamp of the previous picture.
///
/// Parameter sets and the like that follow a picture with its timestamp begin the next access unit
/// only if the next slice does: some encoders put them between the slices of one picture.
struct AccessUnitAssembler: Sendable {
  let limits: VideoDefragmenter.Limits
  let format: any PayloadFormat.Type
  /// Refuted once a picture has continued after its marker, and where NAL units are sent out of
  /// decoding order, because the marker then means nothing.
  var markers = MarkerTrust()
  var parameterSets: ParameterSets
  var description: FormatDescription? {
    didSet {
      bounds.units = limits.unitsPerAccessUnit + (description.map(format.maximumSlices) ?? 0)
    }
  }
  /// What an access unit can hold: the slices that pictures of this size can have, and other units.
  private var bounds: AccessUnitDraft.Bounds

  var reader: (any PictureReading)?
  var open: AccessUnitDraft?
  /// A picture that may or may not continue after `open`, which has none yet.
  private var held: AccessUnitDraft?
  var ready = CircularBuffer<AccessUnit>()
  var lastLength = 0
  /// The time of the last picture.
  var lastPicture: MediaTime?
  /// The last picture, if it is the first field of a frame.
  var firstField: (identity: PictureIdentity, time: MediaTime)?
  private var lostPackets = 0
  /// Packets are missing directly before the next unit.
  private var isBehindGap = false
  /// The number of missing packets is unknown.
  private var isBehindRestart = false
  /// The next access unit is the first of another source.
  var isBehindOtherSource = false
  var supply = ParameterSetSupply()
  var statistics = DefragmentStatistics()

  init(format: any PayloadFormat.Type, limits: VideoDefragmenter.Limits) {
    self.format = format
    self.limits = limits
    bounds = AccessUnitDraft.Bounds(units: limits.unitsPerAccessUnit, bytes: limits.accessUnitBytes)
    parameterSets = ParameterSets(format: format)
    reader = format.codec.makeReader?()
  }

  var hasUnit: Bool { !ready.isEmpty }

  mutating func next() -> AccessUnit? { ready.popFirst() }

  /// Adds a parameter set from outside the stream; `false` if it is none.
  mutating func learn(_ set: ByteBuffer) -> Bool {
    guard parameterSets.insert(set, origin: .signalled) != .malformed else { return false }
    reader?.take(parameterSet: set)
    description = parameterSets.format(of: nil) ?? description
    return true
  }

  mutating func restart() {
    supply.restart()
    markers.forgetMark()
    markers.doubt()
  }

  /// Notes packets missing before the next one; `nil` means an unknown number.
  mutating func noteLoss(of count: Int?) {
    if markers.areUsed {
      // A picture whose marker did not come, or may be wrong, may have continued.
      held?.noteDamage(.lostPackets)
    } else {
      finishHeld()
    }
    markers.forgetMark()
    isBehindGap = true
    if count == nil { isBehindRestart = true }
    guard open?.hasPicture == true else {
      lostPackets += count ?? 0
      return
    }
    open?.noteDamage(.lostPackets)
    open?.noteGap(of: count)
  }

  /// Notes units missing after those written; their packets are already counted as lost.
  mutating func noteHole() {
    isBehindGap = true
    held?.noteDamage(.lostPackets)
    if open?.hasPicture == true { open?.noteDamage(.lostPackets) }
  }

  /// Notes that an unusable piece of the picture at `time` came, so the picture is damaged.
  ///
  /// Its marker still ends the access unit: str0m has sent a truncated key picture after its
  /// parameter sets, and these do not belong to the next picture.
  mutating func noteUselessPiece(at time: MediaTime) {
    markers.forgetMark()
    if held?.time == time { rejoin() }
    guard let draft = open, draft.time == time || !draft.hasPicture else {
      isBehindGap = true
      return
    }
    open?.time = time
    open?.hasPicture = true
    open?.noteDamage(.uselessPiece)
  }

  var headerLength: Int { format.headerLength }

  /// Whether `unit` is part of a picture.
  func isPicture(_ unit: ByteBuffer) -> Bool { format.role(of: NALUnitHead(of: unit)).isPicture }

  // MARK: - NAL units

  /// Begins a NAL unit, and ends the access unit before it if this one belongs to the next.
  ///
  /// `head` holds its first bytes, `body` what has come after its header, `packets` in which.
  mutating func begin(
    _ head: NALUnitHead, body: ByteBuffer, time: MediaTime, arrival: Instant,
    packets: UnitPackets?
  ) {
    let role = format.role(of: head)
    let identity = role.isPicture ? reader?.identity(ofSlice: head, body: body) : nil
    let isTrail = judgeMarker(role, identity, at: time)
    if let heldTime = held?.time {
      if heldTime != time || role.isPicture && Self.begins(role, identity, behind: held?.slices) {
        finishHeld()
      } else if role.isPicture {
        rejoin()
      }
    } else if open?.hasPicture == true, open?.time == time, !role.isPicture, role.beginsAccessUnit {
      swap(&held, &open)
    }
    if open?.hasPicture == true,
      open?.time != time || Self.begins(role, identity, behind: open?.slices)
    {
      // Without a marker, its last packets may be among the missing ones.
      finish()
    } else if let draft = open, draft.time != time {
      joinNext(draft, at: time)
    }
    dropUselessUnits()
    if open == nil {
      let capacity = max(lastLength + lastLength / 4, 256)
      open = AccessUnitDraft(
        bytes: ByteBufferAllocator().buffer(
          capacity: held == nil ? min(capacity, limits.accessUnitBytes) : 256),
        time: time, arrival: arrival)
    }
    open?.note(packets, at: time)
    if isTrail { open?.noteDamage(.lostPackets) }
    if role.isPicture {
      if open?.slices.identity == nil { open?.slices.identity = identity }
      if role.beginsAccessUnit { open?.slices.hasFirst = true }
    }
    if lostPackets > 0 || isBehindGap {
      // Of a loss before a prefix, the slice shows what it has taken.
      if !role.beginsAccessUnit, role != .prefix { open?.noteDamage(.lostPackets) }
      open?.isBehindLoss = true
    }
    if lostPackets > 0 {
      open?.noteGap(of: lostPackets)
    } else if isBehindRestart {
      open?.noteGap(of: nil)
    }
    (lostPackets, isBehindRestart) = (0, false)
    if role != .prefix { isBehindGap = false }
    let bounds = bounds
    let format = format
    if open?.beginUnit(within: bounds, format: format) == false { statistics.excessUnits += 1 }
  }

  /// Judges the last marker by the unit that follows it, and returns whether that belongs to a
  /// picture whose beginning has already come out.
  private mutating func judgeMarker(
    _ role: NALUnitRole, _ identity: PictureIdentity?, at time: MediaTime
  ) -> Bool {
    guard let mark = markers.mark else { return false }
    let isNext = role.beginsAccessUnit && Self.begins(role, identity, behind: mark.slices)
    if mark.time != time || role.isPicture && isNext {
      markers.confirm()
      return false
    }
    // Others may follow the picture with its time, and may lie between its slices.
    guard role.isPicture else { return false }
    statistics.misplacedMarkers += 1
    markers.refute()
    return held == nil && open?.hasPicture != true
  }

  /// Has the units of `draft`, which came without a picture, belong to the one at `time`.
  private mutating func joinNext(_ draft: AccessUnitDraft, at time: MediaTime) {
    guard draft.damage == nil, !(draft.isBehindLoss && isAlone(.prefix, in: draft)) else {
      // What followed a lost picture, such as filler or its hash, is nothing of the next one; nor
      // is the prefix of a lost slice.
      return drop(draft)
    }
    open?.time = time
    if lostPackets > 0 || isBehindGap {
      // The picture from which a recovery point counts may be among what was lost (H.264 §D.2.8).
      open?.isRandomAccess = false
      open?.recoveryPoint = nil
    }
  }

  /// Whether a slice begins another picture than that of `slices` (H.264 §7.4.1.2.4, H.265
  /// §7.4.2.4.5).
  private static func begins(
    _ role: NALUnitRole, _ identity: PictureIdentity?, behind slices: AccessUnitDraft.Slices?
  ) -> Bool {
    guard role.isPicture, let identity, let known = slices?.identity else {
      return role.beginsAccessUnit
    }
    guard identity.isSamePicture(as: known) else { return true }
    // Some encoders misnumber pictures, but none sends the first slice of one twice.
    return role.beginsAccessUnit && slices?.hasFirst == true && !identity.isRedundant
  }

  /// The picture continues after what followed its last slice.
  private mutating func rejoin() {
    let between = open
    open = nil
    swap(&held, &open)
    let (bounds, format) = (bounds, format)
    if let between, let excess = open?.goOn(behind: between, within: bounds, format: format) {
      statistics.excessUnits += UInt64(excess)
    }
  }

  private mutating func finishHeld() {
    guard let picture = held else { return }
    held = nil
    finish(picture)
  }

  /// Appends `piece` to the current unit, up to the limit.
  mutating func append(_ piece: ByteBuffer) {
    let (bounds, format) = (bounds, format)
    guard let findings = open?.append(piece, within: bounds, format: format) else { return }
    count(findings)
    examineUnits()
  }

  /// Notes that the next piece of the current unit came in `packets`, whose time is `time`.
  mutating func note(_ packets: UnitPackets?, at time: MediaTime) { open?.note(packets, at: time) }

  /// Appends the header of the current unit.
  mutating func append(header: [UInt8]) {
    let bounds = bounds
    guard let findings = open?.append(header: header, within: bounds) else { return }
    count(findings)
  }

  /// Ends the current NAL unit.
  mutating func end(isWhole: Bool, arrival: Instant) {
    // Units that were sent out of decoding order come here out of arrival order.
    if let (first, last) = open.map({ ($0.firstArrival, $0.lastArrival) }) {
      open?.firstArrival = min(first, arrival)
      open?.lastArrival = max(last, arrival)
    }
    let format = format
    open?.endUnit(isWhole: isWhole, format: format)
    examineUnits()
  }

  private mutating func count(_ findings: AccessUnitDraft.Findings) {
    statistics.embeddedUnits += UInt64(findings.embeddedUnits)
    if findings.isExcess { statistics.excessUnits += 1 }
    if findings.isOversized { statistics.oversizedUnits += 1 }
  }

  /// The packet that ends here had the marker bit.
  mutating func noteMarker() {
    guard !markers.isRefuted else { return }
    if open?.hasPicture == true {
      finishHeld()
      // The gap was before this packet.
      isBehindGap = false
      guard let draft = open, markers.noteMarker(behind: draft) else { return }
      finish()
    } else if markers.mark == nil, let draft = held, markers.noteMarker(behind: draft) {
      finishHeld()
    }
  }

  /// Whether a picture that a marker has ended waits for what shows that it is complete.
  var isWaiting: Bool { markers.mark != nil && (held != nil || open?.hasPicture == true) }

  /// Ends the access unit that waits.
  mutating func release() {
    guard isWaiting else { return }
    if held != nil { finishHeld() } else { finish() }
  }

  /// A marker was set where nothing can end: no marker means anything.
  mutating func noteMisplacedMarker() {
    statistics.misplacedMarkers += 1
    markers.refute()
  }

  /// Leaves out the access unit in progress, because its sender goes on.
  ///
  /// Without markers, only what follows a picture shows that it is complete.
  mutating func leave() {
    // What a marker has ended is not what its sender goes on with.
    release()
    if !markers.areUsed { finishHeld() }
    if held != nil || open != nil { statistics.leftOut += 1 }
    (held, open) = (nil, nil)
  }

  /// Ends the access unit, whatever it holds.
  mutating func flush() {
    // In a stream with markers, a missing marker was in a missing packet.
    if markers.areUsed, markers.mark == nil {
      held?.noteDamage(.unfinished)
      if open?.hasPicture == true { open?.noteDamage(.unfinished) }
    }
    finishHeld()
    // Supplemental information behind the last slices would begin the next picture, if one came.
    if let draft = open, !draft.units.isEmpty,
      draft.time != lastPicture || !draft.gaps.isEmpty
        || !isAlone(.supplementalInformation, in: draft)
    {
      finish()
    }
    open = nil
  }

  /// Whether all units of `draft` have `role`.
  private func isAlone(_ role: NALUnitRole, in draft: AccessUnitDraft) -> Bool {
    draft.units.allSatisfy { unit in
      let bytes = draft.bytes.getSlice(
        at: draft.bytes.readerIndex + unit.offset, length: unit.length)
      return bytes.map { format.role(of: NALUnitHead(of: $0)) } == role
    }
  }

  /// Discards a full access unit without a picture, which would never end.
  private mutating func dropUselessUnits() {
    guard let draft = open, !draft.hasPicture,
      draft.isFull || draft.unitCount >= bounds.units
    else { return }
    statistics.excessUnits += UInt64(draft.units.count)
    drop(draft)
  }

  /// Discards the open `draft`, and has its gaps before the next unit.
  private mutating func drop(_ draft: AccessUnitDraft) {
    takeBackGaps(of: draft)
    supply.noteDrop()
    open = nil
  }

  /// Moves the gaps of the discarded `draft` to before the next unit.
  mutating func takeBackGaps(of draft: AccessUnitDraft) {
    lostPackets += draft.lostPackets
    isBehindGap = true
    if draft.gaps.contains(where: { $0.packets == nil }) { isBehindRestart = true }
  }
}
