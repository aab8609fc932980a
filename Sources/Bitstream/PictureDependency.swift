/// What a picture has to do with others, as far as its NAL unit headers tell.
public struct PictureDependency: Sendable, Hashable {
  /// Which pictures it may refer to.
  public enum References: Sendable, Hashable {
    /// None, and nothing shown after it refers to what came before it: IDR pictures, and all intra
    /// random-access points of H.265.
    case none
    /// Pictures before it.
    case earlier
    /// Pictures before it, of which none is of its temporal sub-layer or above, now or later:
    /// temporal sub-layer access (H.265 §7.4.2.2).
    case lowerLevels
    /// The random-access point before it and leading pictures like itself (RADL).
    case randomAccessPoint
    /// Pictures before the random-access point that it follows (RASL).
    case beforeRandomAccessPoint
  }

  public var references: References
  /// `TemporalId`, 0 … 6; 0 in H.264: no picture refers to one of a higher level.
  public var temporalLevel: UInt8
  /// Whether pictures of its own level may refer to it: `nal_ref_idc` (H.264 §7.4.1), or a type
  /// that is not a sub-layer non-reference picture's (H.265 §7.4.2.2).
  public var isReference: Bool
  /// Whether it consists of B slices as far as its first one tells (H.264); false in H.265, whose
  /// NAL unit types tell more.
  public var isBidirectional: Bool

  public init(
    references: References, temporalLevel: UInt8 = 0, isReference: Bool = true,
    isBidirectional: Bool = false
  ) {
    self.references = references
    self.temporalLevel = temporalLevel
    self.isReference = isReference
    self.isBidirectional = isBidirectional
  }
}

/// What a recovery point message promises (H.264 §D.2.8, H.265 §D.3.8).
public struct RecoveryPoint: Sendable, Hashable {
  /// How far behind the message pictures are right again.
  ///
  /// It counts references in H.264 and steps of the picture order count in H.265; never negative.
  public var distance: Int
  /// Whether they will be exactly what they would have been (`exact_match_flag`), or about that.
  public var isExact: Bool

  public init(distance: Int, isExact: Bool = true) {
    self.distance = distance
    self.isExact = isExact
  }
}
