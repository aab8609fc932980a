/// A displacement in eighths of a luma sample.
struct MotionVector: Hashable {
  /// How many units a sample has.
  static let unit = 8

  static let zero = MotionVector(x: 0, y: 0)

  var x: Int
  var y: Int

  static func + (one: Self, other: Self) -> Self { Self(x: one.x + other.x, y: one.y + other.y) }
  static func - (one: Self, other: Self) -> Self { Self(x: one.x - other.x, y: one.y - other.y) }

  /// The sum of the distances in both directions.
  func distance(to other: Self) -> Int { abs(x &- other.x) &+ abs(y &- other.y) }

  /// The same motion over a longer or shorter time.
  func scaled(by factor: Double) -> Self {
    guard factor != 1 else { return self }
    return Self(x: Int((Double(x) * factor).rounded()), y: Int((Double(y) * factor).rounded()))
  }

  /// The middle of three in each direction.
  static func median(_ a: Self, _ b: Self, _ c: Self) -> Self {
    func middle(_ a: Int, _ b: Int, _ c: Int) -> Int { max(min(a, b), min(max(a, b), c)) }
    return Self(x: middle(a.x, b.x, c.x), y: middle(a.y, b.y, c.y))
  }
}

/// A sum of vectors with weights.
struct MotionSum {
  private var x = 0.0
  private var y = 0.0
  private var weight = 0.0

  mutating func add(_ vector: MotionVector, weight: Double = 1) {
    x += weight * Double(vector.x)
    y += weight * Double(vector.y)
    self.weight += weight
  }

  /// The mean; `nil` of nothing.
  var mean: MotionVector? {
    guard weight > 0 else { return nil }
    return MotionVector(x: Int((x / weight).rounded()), y: Int((y / weight).rounded()))
  }
}
