/// By what the slices of one picture are known (H.264 §7.4.1.2.4).
public struct PictureIdentity: Sendable, Hashable {
  let frameNumber: Int
  let pictureSet: Int
  let field: Field?
  let isReference: Bool
  let isIDR: Bool
  let identifier: Int
  let orderLow: Int
  let orderDifferences: [Int]
  /// Whether the slice is a second copy of what other slices hold (`redundant_pic_cnt` is not 0).
  public let isRedundant: Bool

  /// Whether slices of this and of `other` can be of one picture; they may name different parameter
  /// sets, since some encoders change them within a picture.
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
