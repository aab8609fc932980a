import RTPWire

/// Draws how long packets travel.
struct DelayStage: Sendable {
  private var dice: SplitMix64
  /// The last one, in deviations from the mean.
  private var last = 0.0

  /// In deviations.
  private static let furthest = 10.0

  init(seed: UInt64, stage: StageName, flow: Int) {
    dice = SplitMix64(seed: seed, stage: stage, flow: flow)
  }

  /// In nanoseconds, never below 0.
  mutating func draw(_ delay: Delay) -> Int64 {
    guard delay.jitter > 0 else { return delay.mean }
    let fresh = draw(delay.distribution)
    let correlation = delay.correlation
    // A first-order autoregression, which keeps mean and variance.
    last = correlation * last + (1 - correlation * correlation).squareRoot() * fresh
    var deviations = last
    if delay.distribution == .uniform {
      // Of ±1 the standard deviation is 1/√3.
      deviations = min(max(deviations / 3.0.squareRoot(), -1), 1)
    }
    return max(0, delay.mean + Int64(Double(delay.jitter) * deviations))
  }

  /// A number with mean 0 and standard deviation 1.
  private mutating func draw(_ distribution: Delay.Distribution) -> Double {
    switch distribution {
    case .uniform: (2 * dice.uniform() - 1) * 3.0.squareRoot()
    case .normal: dice.gaussian()
    case .pareto: pareto()
    case .paretonormal: (0.25 * dice.gaussian() + 0.75 * pareto()) / 0.625.squareRoot()
    }
  }

  /// Of shape 3, whose mean is 3/2 and whose variance is 3/4.
  private mutating func pareto() -> Double {
    let value = 1 / Self.cubeRoot(1 - dice.uniform())
    return min((value - 1.5) / 0.75.squareRoot(), Self.furthest)
  }

  /// By Newton's method, for numbers above 0 and up to 1.
  private static func cubeRoot(_ number: Double) -> Double {
    var root = 1.0
    for _ in 0..<60 {
      let next = root - (root - number / (root * root)) / 3
      if next >= root { break }
      root = next
    }
    return root
  }
}
