/// The role of a NAL unit in its access unit.
public enum NALUnitRole: Sendable, Hashable {
  /// Part of a picture (a VCL NAL unit of the base layer).
  case picture(isFirstSlice: Bool, isRandomAccess: Bool)
  case parameterSet
  /// May contain a recovery point; precedes the pictures.
  case supplementalInformation
  /// Only occurs at the start of an access unit: a delimiter, or what may precede the picture.
  case start
  /// Belongs to the slice that follows, whichever of the picture that is (H.264 §7.4.1.2.3).
  case prefix
  /// Occurs anywhere and does not end an access unit: suffixes, fillers, ends of sequence.
  case other

  public var isPicture: Bool { if case .picture = self { true } else { false } }

  /// Whether it ends an access unit that already has a picture (H.264 §7.4.1.2.3, H.265
  /// §7.4.2.4.4).
  public var beginsAccessUnit: Bool {
    switch self {
    case .picture(let isFirstSlice, _): isFirstSlice
    case .parameterSet, .supplementalInformation, .start: true
    case .prefix, .other: false
    }
  }
}
