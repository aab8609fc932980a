import Bitstream
import NIOCore

/// The first NAL unit of an access unit (H.265 §7.4.2.4.4), and the first slice segment of a
/// picture (§7.4.2.4.5).
struct H265PictureBoundary: PictureBoundary {
  private var sets = H265.CodingParameterSets()
  private var hasPicture = false
  /// Of the present picture.
  private var type: UInt8 = 0
  /// `slice_pic_order_cnt_lsb` of the present picture; `nil` when it cannot be read.
  private var order: UInt32?
  private var hasEnded = false

  init() {}

  mutating func learn(_ set: ByteBuffer) { sets.take(set) }

  mutating func restart() {
    let sets = sets
    self = H265PictureBoundary()
    self.sets = sets
  }

  func isPicture(_ unit: ByteBuffer) -> Bool {
    let head = NALUnitHead(of: unit)
    return H265.type(of: head) < 32 && Self.layer(of: head) == 0
  }

  mutating func place(of unit: ByteBuffer) -> UnitPlace {
    let head = NALUnitHead(of: unit)
    // Other layers extend the picture of the base layer (§F.7.4.2.4.4).
    guard Self.layer(of: head) == 0 else { return .continuesAccessUnit }
    let type = H265.type(of: head)
    if (32...34).contains(type) { sets.take(unit) }
    switch type {
    case 0..<32: return place(ofSlice: unit, type)
    case 36, 37:
      hasEnded = hasPicture
      return .continuesAccessUnit
    case _ where hasEnded: return begin()
    case 32...35, 39, 41...44, 48...55: return hasPicture ? begin() : .continuesAccessUnit
    // Suffix messages, filler data and the other reserved types follow the picture.
    default: return .continuesAccessUnit
    }
  }

  private mutating func begin() -> UnitPlace {
    (hasPicture, hasEnded, order) = (false, false, nil)
    return .beginsAccessUnit
  }

  private mutating func place(ofSlice unit: ByteBuffer, _ type: UInt8) -> UnitPlace {
    let header = try? H265.SliceHeader(parsing: unit, with: sets)
    let isFirst = NALUnitHead(of: unit)[2] & 0x80 != 0
    var isNew = hasPicture && (hasEnded || isFirst)
    // A first segment that was lost would glue two pictures: all segments of one have the same type
    // and order count (§7.4.2.2, §7.4.7.1). Dependent segments have none.
    if hasPicture, !isNew {
      isNew = type != self.type || header.map { order != nil && $0.orderCount != order } ?? false
    }
    let place = isNew ? begin() : .continuesAccessUnit
    if !hasPicture { self.type = type }
    hasPicture = true
    order = order ?? header?.orderCount
    return place
  }

  /// `nuh_layer_id` (§7.3.1.2).
  private static func layer(of head: NALUnitHead) -> UInt8 { (head[0] & 1) << 5 | head[1] >> 3 }
}
