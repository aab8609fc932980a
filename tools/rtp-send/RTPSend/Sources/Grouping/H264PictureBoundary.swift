import Bitstream
import NIOCore

/// The first NAL unit of an access unit, and the first slice of a picture (H.264 §7.4.1.2.3 and
/// §7.4.1.2.4).
struct H264PictureBoundary: PictureBoundary {
  private var sets = H264.CodingParameterSets()
  /// The last slice of the present picture that is not redundant; `nil` before there is one, and
  /// where its header cannot be read.
  private var last: H264.SliceHeader?
  private var hasPicture = false
  /// The present picture has a slice that begins with the first macroblock.
  private var hasFirstMacroblock = false
  /// An end of sequence or stream came, which nothing of the same picture follows.
  private var hasEnded = false

  init() {}

  mutating func learn(_ set: ByteBuffer) { sets.take(set) }

  mutating func restart() {
    // Parameter sets stay valid: some writers give them once.
    let sets = sets
    self = H264PictureBoundary()
    self.sets = sets
  }

  func isPicture(_ unit: ByteBuffer) -> Bool {
    switch H264.type(of: NALUnitHead(of: unit)) {
    case 1, 2, 5: true
    default: false
    }
  }

  mutating func place(of unit: ByteBuffer) -> UnitPlace {
    let type = H264.type(of: NALUnitHead(of: unit))
    if type == 7 || type == 8 { sets.take(unit) }
    switch type {
    case 1, 2, 5: return place(ofSlice: unit, type)
    case 10, 11:
      hasEnded = hasPicture
      return .continuesAccessUnit
    case _ where hasEnded: return begin()
    // A prefix stands before every slice of an SVC or MVC base layer, also inside a picture.
    case 14: return hasPicture ? .unknownYet : .continuesAccessUnit
    case 6, 7, 8, 9, 15, 16, 17, 18: return hasPicture ? begin() : .continuesAccessUnit
    // Partitions B and C, auxiliary pictures, other layers and views, filler data, and types that
    // nobody has defined belong to the picture before them.
    default: return .continuesAccessUnit
    }
  }

  private mutating func begin() -> UnitPlace {
    (last, hasPicture, hasFirstMacroblock, hasEnded) = (nil, false, false, false)
    return .beginsAccessUnit
  }

  private mutating func place(ofSlice unit: ByteBuffer, _ type: UInt8) -> UnitPlace {
    let header = try? H264.SliceHeader(
      head: NALUnitHead(of: unit), body: unit.dropping(bytes: 1), with: sets)
    let isFirst = header?.isFirst ?? Self.beginsWithFirstMacroblock(unit)
    let isNew = hasPicture && (hasEnded || begins(header, isFirst: isFirst))
    let place = isNew ? begin() : .continuesAccessUnit
    hasPicture = true
    // Redundant slices repeat a part of the picture, and all their fields but the count.
    guard header?.redundancy ?? 0 == 0 else { return place }
    last = header ?? last
    hasFirstMacroblock = hasFirstMacroblock || isFirst
    return place
  }

  /// Whether a slice begins another picture.
  private func begins(_ header: H264.SliceHeader?, isFirst: Bool) -> Bool {
    // Without a header that can be read, the first macroblock has to do.
    guard let header, let last else { return isFirst && hasFirstMacroblock }
    if header.redundancy > 0 { return false }
    let (present, previous) = (header.identity, last.identity)
    if !present.isSamePicture(as: previous) { return true }
    // Encoders that change the set inside a picture break the rule, and change nothing else.
    if header.pictureSet != last.pictureSet, isFirst { return true }
    // Equal in all fields, as consecutive IDR pictures of encoders that do not count idr_pic_id: no
    // picture has two slices with its first macroblock, but for those of separate colour planes.
    return isFirst && hasFirstMacroblock && !hasSeparatePlanes(header)
  }

  private func hasSeparatePlanes(_ header: H264.SliceHeader) -> Bool {
    guard let picture = sets.picture(header.pictureSet) else { return false }
    return sets.sequence(picture.sequenceIdentifier)?.hasSeparatePlanes ?? false
  }

  /// `first_mb_in_slice` is an Exp-Golomb code: 0 is a single 1 bit.
  private static func beginsWithFirstMacroblock(_ unit: ByteBuffer) -> Bool {
    NALUnitHead(of: unit)[1] & 0x80 != 0
  }
}
