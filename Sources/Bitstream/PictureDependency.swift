/// How a picture depends on others, as far as its NAL unit headers show.
public struct PictureDependency: Sendable, Hashable {
  /// Which pictures it may refer to.
  public enum References: Sendable, Hashable, CaseIterable {
    /// None, and no picture output after it refers to what came before it: IDR pictures, and all
    /// intra random-access points of H.265.
    case none
    /// Earlier pictures.
    case earlier
    /// Earlier pictures; from here on, none of its temporal sub-layer or higher refers to earlier
    /// pictures of those levels: temporal sub-layer access (H.265 §7.4.2.2).
    case lowerLevels
    /// The preceding random-access point and its decodable leading pictures (RADL).
    case randomAccessPoint
    /// Pictures before the preceding random-access point (RASL).
    case beforeRandomAccessPoint
  }

  public var references: References
  /// `TemporalId`, 0 … 6, and 0 in H.264: no picture refers to one of a higher level.
  public var temporalLevel: UInt8
  /// Whether pictures of the same level may refer to it: `nal_ref_idc` (H.264 §7.4.1), or any type
  /// except the sub-layer non-reference ones (H.265 §7.4.2.2).
  public var isReference: Bool
  /// Whether its first slice is a B slice (H.264); `false` in H.265, whose NAL unit types say more.
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
  /// How far after the message pictures are correct again.
  ///
  /// Counted in reference frames in H.264, in picture order count in H.265; never negative.
  public var distance: Int
  /// Whether they will be exact (`exact_match_flag`), or only approximately correct.
  public var isExact: Bool

  public init(distance: Int, isExact: Bool = true) {
    self.distance = distance
    self.isExact = isExact
  }
}
