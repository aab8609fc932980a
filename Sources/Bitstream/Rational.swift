/// A ratio of two positive integers, such as a frame rate or a sample aspect ratio.
public struct Rational: Sendable, Hashable {
  public var numerator: UInt32
  /// Never 0.
  public var denominator: UInt32

  /// Makes `numerator / denominator`, or `nil` when either is 0, since no ratio here may be.
  public init?(_ numerator: UInt32, _ denominator: UInt32) {
    guard numerator > 0, denominator > 0 else { return nil }
    self.numerator = numerator
    self.denominator = denominator
  }

  /// The ratio rounded to a `Double`.
  public var value: Double { Double(numerator) / Double(denominator) }
}
