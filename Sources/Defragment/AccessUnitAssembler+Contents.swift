import Bitstream
import NIOCore
import RTPWire

/// What access units hold, and how they leave.
extension AccessUnitAssembler {
  /// Examines the units added since the last call.
  mutating func examineUnits() {
    while let index = open?.examined, let count = open?.units.count, index < count,
      let entry = open?.units[index]
    {
      open?.examined += 1
      examine(entry, index: index)
    }
  }

  private mutating func examine(_ entry: NALUnit, index: Int) {
    guard
      let content = open.flatMap({ draft in
        draft.bytes.getSlice(
          at: draft.bytes.readerIndex + entry.offset, length: entry.length)
      })
    else { return }
    let head = NALUnitHead(of: content)
    statistics.units += 1
    let role = format.role(of: head)
    markers.noteUnit(isPicture: role.isPicture)
    switch role {
    case .picture(let isFirst, let isRandomAccess):
      open?.hasPicture = true
      if isFirst { open?.hasBeginning = true }
      if isRandomAccess { open?.isRandomAccess = true }
      if open?.slice == nil {
        let dependency = format.dependency(of: head)
        open?.slice = entry
        open?.dependency = dependency
      }
    case .parameterSet where entry.isWhole:
      supply.noteArrival()
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
        // Those of pictures, the last in order, say nothing of what encoder this is.
        if entry.type != format.codec.parameterSetTypes.last { markers.doubt() }
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

  mutating func finish() {
    guard let draft = open else { return }
    open = nil
    finish(draft)
  }

  mutating func finish(_ draft: AccessUnitDraft) {
    var draft = draft
    guard !draft.units.isEmpty else {
      // No part of the picture was usable.
      takeBackGaps(of: draft)
      return
    }
    draft.placeStrays(format: format)
    // A stream that was joined in the middle of a picture.
    if lastPicture == nil, draft.hasPicture, !draft.hasBeginning { draft.noteDamage(.lostPackets) }
    lastLength = draft.bytes.readableBytes
    if draft.hasPicture {
      lastPicture = draft.time
      if draft.damage == nil, !draft.isBehindLoss { markers.noteWholePicture() }
    }
    if let slice = draft.slice, draft.parameterSetTypes != 0 || draft.isRandomAccess {
      let bytes = draft.bytes.getSlice(
        at: draft.bytes.readerIndex + slice.offset, length: slice.length)
      description = parameterSets.format(of: bytes) ?? description
    }
    supply.complete(&draft, with: parameterSets, format: format)
    statistics.accessUnits += 1
    if let cause = draft.damage { statistics.damaged[cause, default: 0] += 1 }
    var unit = draft.accessUnit(codec: format.codec, format: description)
    unit.beginsOtherSource = isBehindOtherSource
    unit.fields = fields(of: draft)
    isBehindOtherSource = false
    ready.append(unit)
  }

  /// Which field of a frame the picture of `draft` is, if it is one.
  private mutating func fields(of draft: AccessUnitDraft) -> AccessUnit.Fields? {
    let first = firstField
    firstField = nil
    guard draft.hasPicture, let identity = draft.slices.identity, identity.isField else {
      return nil
    }
    // Behind a loss, it may be of another frame: those that nothing refers to have one number.
    if let first, first.identity.isCompleted(by: identity), !isBehindOtherSource,
      !draft.isBehindLoss || draft.time == first.time
    {
      return .second
    }
    firstField = (identity, draft.time)
    return .first
  }
}
