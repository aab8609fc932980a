/// The fields that all slices of a picture share (H.264 §7.4.1.2.4).
public struct PictureIdentity: Sendable, Hashable {
  let frameNumber: Int
  let pictureSet: Int
  let field: Field?
  let isReference: Bool
  let isIDR: Bool
  let identifier: Int
  let orderLow: Int
  let orderDifferences: [Int]
  /// Whether the slice repeats content of other slices (`redundant_pic_cnt` is not 0).
  public let isRedundant: Bool

  /// Whether both slices can belong to one picture; they may name different parameter sets, because
  /// some encoders change these within a picture.
  public func isSamePicture(as other: PictureIdentity) -> Bool {
    frameNumber == other.frameNumber && field == other.field && isReference == other.isReference
      && isIDR == other.isIDR && identifier == other.identifier && orderLow == other.orderLow
      && orderDifferences == other.orderDifferences
  }

  /// Whether it is one of the two fields of a frame.
  public var isField: Bool { field != nil }

  /// Whether `next`, which follows it in decoding order, is the other field of its frame: the two
  /// are a complementary pair (H.264 §3.30).
  public func isCompleted(by next: PictureIdentity) -> Bool {
    guard let field, next.field == field.opposite else { return false }
    return frameNumber == next.frameNumber && isReference == next.isReference && !next.isIDR
  }
}

/// Half of a frame: every other row.
public enum Field: Sendable, Hashable {
  case top
  case bottom

  public var opposite: Field { self == .top ? .bottom : .top }
}
