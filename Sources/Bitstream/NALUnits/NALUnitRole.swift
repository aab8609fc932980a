/// What a NAL unit is to the access unit it belongs to.
public enum NALUnitRole: Sendable, Hashable {
  /// Part of a picture (a VCL NAL unit of the base layer).
  case picture(isFirstSlice: Bool, isRandomAccess: Bool)
  case parameterSet
  /// May tell of a recovery point; stands before the pictures.
  case supplementalInformation
  /// Can only stand at the start of an access unit: a delimiter, or what may precede the picture.
  case start
  /// Stands anywhere, and is no reason to end an access unit: suffixes, fillers, ends of sequence.
  case other

  public var isPicture: Bool { if case .picture = self { true } else { false } }

  /// Whether it ends an access unit that has a picture already (H.264 §7.4.1.2.3, H.265
  /// §7.4.2.4.4).
  public var beginsAccessUnit: Bool {
    switch self {
    case .picture(let isFirstSlice, _): isFirstSlice
    case .parameterSet, .supplementalInformation, .start: true
    case .other: false
    }
  }
}
