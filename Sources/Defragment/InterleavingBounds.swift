/// How far out of decoding order units may be sent, as the sender promised.
public struct InterleavingBounds: Sendable, Hashable {
  /// Units that may precede another in transmission order and follow it in decoding order.
  public var units: Int
  /// The largest distance between two numbers in the buffer, if limited.
  public var distance: Int?
  /// Whether `units` counts only units of pictures, as `sprop-interleaving-depth` does.
  public var countsPicturesAlone: Bool

  public init(units: Int, distance: Int?, countsPicturesAlone: Bool = false) {
    self.units = units
    self.distance = distance
    self.countsPicturesAlone = countsPicturesAlone
  }
}
