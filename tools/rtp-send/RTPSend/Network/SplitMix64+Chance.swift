public import RTPWire

/// What a simulated network throws dice for.
extension SplitMix64 {
  /// A generator that is independent of this one's next numbers.
  public mutating func split() -> SplitMix64 { SplitMix64(seed: next()) }

  /// True with `probability`; never at 0 and always at 1.
  public mutating func chance(_ probability: Double) -> Bool { uniform() < probability }

  /// A number from 1 up to `limit`, or 1 when the limit is smaller.
  public mutating func place(upTo limit: Int) -> Int {
    1 + Int(truncatingIfNeeded: next() % UInt64(max(1, limit)))
  }

  /// A number with mean 0, standard deviation 1 and no value beyond ±6: the sum of twelve uniform
  /// ones.
  public mutating func gaussian() -> Double {
    (0..<12).reduce(-6) { sum, _ in sum + uniform() }
  }
}
