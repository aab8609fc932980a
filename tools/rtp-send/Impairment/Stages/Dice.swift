import RTPWire

/// What a stage throws dice for.
enum StageName: Int, CaseIterable {
  // The order decides which random numbers a seed gives a stage: add new ones at the end.
  case loss, burst, reordering, duplication, delay, garbage
  case block, corruption, truncation, oversize, copyDelay, copyReordering
}

extension SplitMix64 {
  /// The generator of one stage of one flow, which no other stage and no other flow changes.
  init(seed: UInt64, stage: StageName, flow: Int) {
    var numbers = SplitMix64(seed: seed)
    if flow != 0 {
      // Far from the seeds of neighbouring flows.
      numbers = SplitMix64(seed: numbers.next() ^ UInt64(bitPattern: Int64(flow)) << 32)
    }
    for _ in 0..<stage.rawValue { _ = numbers.next() }
    self.init(seed: numbers.next())
  }

  /// True with `probability`; never at 0 and always at 1.
  mutating func chance(_ probability: Double) -> Bool { uniform() < probability }

  /// A number from 1 up to `limit`, or 1 when the limit is smaller.
  mutating func place(upTo limit: Int) -> Int {
    1 + Int(truncatingIfNeeded: next() % UInt64(max(1, limit)))
  }

  /// A number with mean 0, standard deviation 1 and no value beyond ±6: the sum of twelve uniform
  /// ones.
  mutating func gaussian() -> Double {
    (0..<12).reduce(-6) { sum, _ in sum + uniform() }
  }
}
