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
}

/// Half of a frame: every other row.
public enum Field: Sendable, Hashable {
  case top
  case bottom

  public var opposite: Field { self == .top ? .bottom : .top }
}
