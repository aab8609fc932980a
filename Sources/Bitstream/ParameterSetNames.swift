/// Which parameter set a NAL unit is, and which one it refers to.
///
/// A set replaces an earlier one of the same name (H.264 §7.4.1.2.1, H.265 §7.4.2.4.2).
public struct ParameterSetNames: Sendable, Hashable {
  /// What tells the sets of a stream apart.
  public struct Name: Sendable, Hashable {
    /// `nal_unit_type`.
    public let type: UInt8
    public let identifier: Int

    public init(type: UInt8, identifier: Int) {
      self.type = type
      self.identifier = identifier
    }
  }

  /// `nil` for slices.
  public let own: Name?
  /// The picture parameter set of a slice, the sequence parameter set of that, and in H.265 the
  /// video parameter set of that; `nil` where there is none.
  public let referred: Name?

  public init(own: Name? = nil, referred: Name? = nil) {
    self.own = own
    self.referred = referred
  }
}
