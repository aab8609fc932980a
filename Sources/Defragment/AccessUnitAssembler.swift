import Bitstream
import NIOCore
import RTPWire

/// Puts NAL units together to access units and decides where each one ends.
///
/// A unit ends with the marker, with the next timestamp, or with a NAL unit that can only begin the
/// next one; whichever comes first. It does not end while it has no picture: Reolink and Tapo
/// cameras set the marker on parameter sets, and give them the timestamp of the picture before.
///
/// Parameter sets and the like behind a picture, at its time, begin the next access unit only when
/// the next slice does: some encoders put them between the slices of one picture.
struct AccessUnitAssembler: Sendable {
  let limits: VideoDefragmenter.Limits
  private let format: any PayloadFormat.Type
  /// False once a stream was seen to go on with a picture behind its marker, and where NAL units
  /// are sent out of decoding order, since then the marker says nothing.
  var trustsMarkers = true
  private(set) var parameterSets: ParameterSets
  private(set) var description: FormatDescription?

  private var reader: (any PictureReading)?
  private var open: AccessUnitDraft?
  /// A picture of which nobody knows yet whether it goes on behind `open`, which has none.
  private var held: AccessUnitDraft?
  private var ready = CircularBuffer<AccessUnit>()
  private var lastLength = 0
  private var endedByMarker: MediaTime?
  /// A marker has ended an access unit of this stream before.
  private var usesMarkers = false
  private var lostPackets = 0
  /// Packets are missing directly before the unit that begins next.
  private var isBehindGap = false
  /// So many that nobody knows how many.
  private var isBehindRestart = false
  private var needsParameterSets = true
  private var hasOfferedParameterSets = false
  /// Parameter sets come with key pictures, so that one without them may have lost them.
  private var parameterSetsComeInBand = false

  init(format: any PayloadFormat.Type, limits: VideoDefragmenter.Limits) {
    self.format = format
    self.limits = limits
    parameterSets = ParameterSets(format: format)
    reader = format.codec.makeReader?()
  }

  mutating func next() -> AccessUnit? { ready.popFirst() }

  /// Takes in a parameter set from outside the stream; false when it is none.
  mutating func learn(_ set: ByteBuffer) -> Bool {
    guard parameterSets.insert(set, origin: .signalled) != .malformed else { return false }
    reader?.take(parameterSet: set)
    description = parameterSets.format(of: nil) ?? description
    return true
  }

  mutating func restart() {
    needsParameterSets = true
    hasOfferedParameterSets = false
    endedByMarker = nil
  }

  /// Packets are missing between what came and what comes; 0 says that nobody knows how many.
  mutating func noteLoss(of count: Int, statistics: inout DefragmentStatistics) {
    endedByMarker = nil
    if usesMarkers, trustsMarkers {
      // A picture whose marker did not come may have gone on.
      held?.noteDamage(.lostPackets)
    } else {
      finishHeld(statistics: &statistics)
    }
    isBehindGap = true
    if count == 0 { isBehindRestart = true }
    guard open?.hasPicture == true else {
      lostPackets += count
      return
    }
    open?.noteDamage(.lostPackets)
    open?.noteGap(of: count)
  }

  /// Units are missing between what was written and what will be, in packets that are counted
  /// already.
  mutating func noteHole() {
    isBehindGap = true
    held?.noteDamage(.lostPackets)
    if open?.hasPicture == true { open?.noteDamage(.lostPackets) }
  }

  /// A piece of the picture at `time` came and is of no use, so that it is not as it should be.
  ///
  /// Its marker ends the access unit all the same: str0m has sent a key picture cut short behind
  /// its parameter sets, and those are not the next picture's.
  mutating func noteUselessPiece(at time: MediaTime) {
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
  /// `head` holds its first bytes, `body` what stands behind its header, as far as it has come.
  mutating func begin(
    _ head: NALUnitHead, body: ByteBuffer, time: MediaTime, arrival: Instant,
    statistics: inout DefragmentStatistics
  ) {
    let role = format.role(of: head)
    let identity = role.isPicture ? reader?.identity(ofSlice: head, body: body) : nil
    if let heldTime = held?.time {
      if heldTime != time || role.isPicture && begins(role, identity, behind: held) {
        finishHeld(statistics: &statistics)
      } else if role.isPicture {
        rejoin()
      }
    } else if open?.hasPicture == true, open?.time == time, !role.isPicture, role.beginsAccessUnit {
      swap(&held, &open)
    }
    if open?.hasPicture == true, open?.time != time || begins(role, identity, behind: open) {
      // Without a marker nobody knows whether the last packets of it were among the missing.
      finish(statistics: &statistics)
    } else if open?.time != time {
      // Parameter sets and the like belong to the picture that follows them, and to its time.
      open?.time = time
    }
    dropUselessUnits(statistics: &statistics)
    if open == nil, let endedByMarker, endedByMarker == time, !role.beginsAccessUnit,
      role.isPicture, trustsMarkers
    {
      statistics.misplacedMarkers += 1
      trustsMarkers = false
    }
    if open == nil {
      let capacity = max(lastLength + lastLength / 4, 256)
      open = AccessUnitDraft(
        bytes: ByteBufferAllocator().buffer(
          capacity: held == nil ? min(capacity, limits.accessUnitBytes) : 256),
        time: time, arrival: arrival)
    }
    if role.isPicture {
      if open?.identity == nil { open?.identity = identity }
      if role.beginsAccessUnit { open?.hasFirstSlice = true }
    }
    if lostPackets > 0 || isBehindGap {
      if !role.beginsAccessUnit { open?.noteDamage(.lostPackets) }
      open?.isBehindLoss = true
    }
    if lostPackets > 0 || isBehindRestart { open?.noteGap(of: lostPackets) }
    (lostPackets, isBehindGap, isBehindRestart) = (0, false, false)
    let bounds = bounds
    let format = format
    if open?.beginUnit(within: bounds, format: format) == false { statistics.excessUnits += 1 }
  }

  /// Whether a slice begins another picture than that of `picture` (H.264 §7.4.1.2.4, H.265
  /// §7.4.2.4.5).
  private func begins(
    _ role: NALUnitRole, _ identity: PictureIdentity?, behind picture: AccessUnitDraft?
  ) -> Bool {
    guard role.isPicture, let identity, let known = picture?.identity else {
      return role.beginsAccessUnit
    }
    guard identity.isSamePicture(as: known) else { return true }
    // Some encoders number pictures wrongly, but none sends the first slice of one twice.
    return role.beginsAccessUnit && picture?.hasFirstSlice == true && !identity.isRedundant
  }

  /// The picture goes on behind what came after its last slice.
  private mutating func rejoin() {
    let between = open
    open = nil
    swap(&held, &open)
    let format = format
    if let between { open?.goOn(behind: between, format: format) }
  }

  private mutating func finishHeld(statistics: inout DefragmentStatistics) {
    guard let picture = held else { return }
    held = nil
    finish(picture, statistics: &statistics)
  }

  /// What an access unit can hold: the slices that the level allows, and as many other units as
  /// there may be.
  private var bounds: AccessUnitDraft.Bounds {
    AccessUnitDraft.Bounds(
      units: limits.unitsPerAccessUnit + (description.map(format.maximumSlices) ?? 0),
      bytes: limits.accessUnitBytes)
  }

  /// Appends `piece` to the unit that has begun, up to the limit.
  mutating func append(_ piece: ByteBuffer, statistics: inout DefragmentStatistics) {
    let (bounds, format) = (bounds, format)
    guard let findings = open?.append(piece, within: bounds, format: format) else { return }
    count(findings, in: &statistics)
    examineUnits(statistics: &statistics)
  }

  /// Appends the header of the unit that has begun.
  mutating func append(header: [UInt8], statistics: inout DefragmentStatistics) {
    let bounds = bounds
    guard let findings = open?.append(header: header, within: bounds) else { return }
    count(findings, in: &statistics)
  }

  /// Ends the NAL unit that has begun.
  mutating func end(
    isWhole: Bool, arrival: Instant, statistics: inout DefragmentStatistics
  ) {
    // Units that were sent out of decoding order come here out of the order of their arrival.
    if let (first, last) = open.map({ ($0.firstArrival, $0.lastArrival) }) {
      open?.firstArrival = min(first, arrival)
      open?.lastArrival = max(last, arrival)
    }
    let format = format
    open?.endUnit(isWhole: isWhole, format: format)
    examineUnits(statistics: &statistics)
  }

  private func count(
    _ findings: AccessUnitDraft.Findings, in statistics: inout DefragmentStatistics
  ) {
    statistics.embeddedUnits += UInt64(findings.embeddedUnits)
    if findings.isExcess { statistics.excessUnits += 1 }
    if findings.isOversized { statistics.oversizedUnits += 1 }
  }

  /// The packet that ends here carried the marker.
  mutating func noteMarker(statistics: inout DefragmentStatistics) {
    if trustsMarkers { finishHeld(statistics: &statistics) }
    guard trustsMarkers, let draft = open, draft.hasPicture else { return }
    endedByMarker = draft.time
    usesMarkers = true
    // What was missing was missing before this packet.
    isBehindGap = false
    finish(statistics: &statistics)
  }

  /// Ends the access unit, whatever it holds.
  mutating func flush(statistics: inout DefragmentStatistics) {
    // Where markers are set, one that did not come was in a packet that did not come.
    if usesMarkers, trustsMarkers {
      held?.noteDamage(.unfinished)
      if open?.hasPicture == true { open?.noteDamage(.unfinished) }
    }
    finishHeld(statistics: &statistics)
    if open?.units.isEmpty == false { finish(statistics: &statistics) }
    open = nil
  }

  /// Begins anew where an access unit is full and has no picture: it would never end.
  private mutating func dropUselessUnits(statistics: inout DefragmentStatistics) {
    guard let draft = open, !draft.hasPicture,
      draft.isFull || draft.unitCount >= bounds.units
    else { return }
    statistics.excessUnits += UInt64(draft.units.count)
    takeBackGaps(of: draft)
    needsParameterSets = true
    open = nil
  }

  /// What was missing in `draft`, of which nothing is left, is missing before the next one.
  private mutating func takeBackGaps(of draft: AccessUnitDraft) {
    lostPackets += draft.lostPackets
    isBehindGap = true
    if draft.gaps.contains(where: { $0.packets == 0 }) { isBehindRestart = true }
  }

  // MARK: - Access units

  /// Learns from the units that have been entered since it was called last.
  private mutating func examineUnits(statistics: inout DefragmentStatistics) {
    while let index = open?.examined, let entry = open?.units.dropFirst(index).first {
      open?.examined += 1
      examine(entry, index: index, statistics: &statistics)
    }
  }

  private mutating func examine(
    _ entry: NALUnit, index: Int, statistics: inout DefragmentStatistics
  ) {
    guard
      let content = open.flatMap({ draft in
        draft.bytes.getSlice(
          at: draft.bytes.readerIndex + entry.offset, length: entry.length)
      })
    else { return }
    let head = NALUnitHead(of: content)
    statistics.units += 1
    switch format.role(of: head) {
    case .picture(_, let isRandomAccess):
      open?.hasPicture = true
      if isRandomAccess { open?.isRandomAccess = true }
      if open?.slice == nil {
        let dependency = format.dependency(of: head)
        open?.slice = entry
        open?.dependency = dependency
      }
    case .parameterSet where entry.isWhole:
      parameterSetsComeInBand = true
      let insertion = parameterSets.insert(content, origin: .inBand)
      guard insertion != .malformed else {
        statistics.malformedParameterSets += 1
        break
      }
      open?.parameterSetTypes |= 1 << UInt64(entry.type)
      if insertion == .repeated {
        open?.repeatedSets.append(index)
      } else {
        reader?.take(parameterSet: content)
      }
      if description == nil { description = parameterSets.format(of: nil) }
    case .supplementalInformation where entry.isWhole:
      if let recoveryPoint = format.recoveryPoint(in: content) {
        open?.isRandomAccess = true
        open?.recoveryPoint = recoveryPoint
      }
    default:
      break
    }
  }

  private mutating func finish(statistics: inout DefragmentStatistics) {
    guard let draft = open else { return }
    open = nil
    finish(draft, statistics: &statistics)
  }

  private mutating func finish(
    _ draft: AccessUnitDraft, statistics: inout DefragmentStatistics
  ) {
    var draft = draft
    guard !draft.units.isEmpty else {
      // Nothing of the picture was of use.
      takeBackGaps(of: draft)
      return
    }
    draft.placeStrays(format: format)
    lastLength = draft.bytes.readableBytes
    if let slice = draft.slice, draft.parameterSetTypes != 0 || draft.isRandomAccess {
      let bytes = draft.bytes.getSlice(
        at: draft.bytes.readerIndex + slice.offset, length: slice.length)
      description = parameterSets.format(of: bytes) ?? description
    }
    let hasParameterSets = format.parameterSetTypes.allSatisfy {
      draft.parameterSetTypes & 1 << UInt64($0) != 0
    }
    if draft.dependency?.references == PictureDependency.References.none {
      let areKnown = parameterSets.isComplete && !parameterSetsComeInBand
      if hasParameterSets || areKnown { draft.isBehindLoss = false }
      let isWhole = !draft.isBehindLoss && draft.damage == nil
      if !hasParameterSets, isWhole { parameterSetsComeInBand = false }
    }
    if hasParameterSets {
      needsParameterSets = false
    } else if needsParameterSets, draft.hasPicture, parameterSets.isComplete,
      draft.isRandomAccess || !hasOfferedParameterSets
    {
      draft.prepend(parameterSets, format: format)
      hasOfferedParameterSets = true
      if draft.isRandomAccess { needsParameterSets = false }
    }
    statistics.accessUnits += 1
    if let cause = draft.damage { statistics.damaged[cause, default: 0] += 1 }
    ready.append(draft.accessUnit(codec: format.codec, format: description))
  }
}
