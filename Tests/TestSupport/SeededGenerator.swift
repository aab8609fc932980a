import RTPWire

/// Random numbers that are the same on every machine for the same seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var numbers: SplitMix64

  public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  public mutating func next() -> UInt64 { numbers.next() }

  /// A number in 0 ..< 1.
  public mutating func uniform() -> Double { numbers.uniform() }

  /// A number in 0 ..< `bound`.
  public mutating func integer(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// A number from 1 up to `bound`.
  public mutating func number(upTo bound: Int) -> Int {
    1 + Int(truncatingIfNeeded: next() % UInt64(max(1, bound)))
  }

  public mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
  }
}

/// Numbers that a test knows beforehand, where a program draws random ones.
public struct KnownNumbers: RandomNumberGenerator, Sendable {
  private var numbers: [UInt64]
  private var following: UInt64
  private let step: UInt64

  private init(_ numbers: [UInt64], next: UInt64, step: UInt64) {
    (self.numbers, following, self.step) = (numbers, next, step)
  }

  /// Deals out `numbers`, and then one of which no draw is ever rejected.
  public static func dealing(_ numbers: [UInt64] = []) -> Self {
    Self(numbers, next: 1 << 63, step: 0)
  }

  /// Draws `number` again and again, which must not be 0: every draw would be rejected.
  public static func always(_ number: UInt64) -> Self { Self([], next: number, step: 0) }

  public static func counting(from first: UInt64) -> Self { Self([], next: first, step: 1) }

  public mutating func next() -> UInt64 {
    if !numbers.isEmpty { return numbers.removeFirst() }
    defer { following &+= step }
    return following
  }
}
