/// A pattern of packet loss: how many packets are lost, and how many in a row.
struct LossPattern {
  let name: String
  /// The fraction of all packets that is lost.
  let rate: Double
  /// The mean number of packets lost in a row; `nil` when losses are independent.
  let burst: Double?

  static let none = LossPattern(name: "none", rate: 0, burst: nil)

  static let few = [
    LossPattern(name: "1 %", rate: 0.01, burst: nil),
    LossPattern(name: "1 %, bursts of 3", rate: 0.01, burst: 3),
  ]

  static let all = [
    LossPattern(name: "0.1 %", rate: 0.001, burst: nil),
    LossPattern(name: "0.5 %", rate: 0.005, burst: nil),
    LossPattern(name: "1 %", rate: 0.01, burst: nil),
    LossPattern(name: "2 %", rate: 0.02, burst: nil),
    LossPattern(name: "5 %", rate: 0.05, burst: nil),
    LossPattern(name: "1 %, bursts of 3", rate: 0.01, burst: 3),
    LossPattern(name: "1 %, bursts of 10", rate: 0.01, burst: 10),
  ]

  /// How many packets at the start are never lost, so that every receiver can begin.
  ///
  /// They hold the parameter sets and the start of the first picture.
  static let spared = 20

  /// For each packet of `scene`, whether it arrives.
  func survivors(of scene: Scene, seed: UInt64) -> [Bool] {
    var random = SplitMix64(state: seed)
    var isBad = false
    return scene.times.enumerated().map { index, time in
      if let burst {
        // The Gilbert–Elliott model: everything is lost in the bad state, nothing in the good one.
        let change = isBad ? 1 / burst : rate / (burst * (1 - rate))
        if Double.random(in: 0..<1, using: &random) < change { isBad.toggle() }
      } else {
        isBad = Double.random(in: 0..<1, using: &random) < rate
      }
      return index < Self.spared || time >= scene.frames || !isBad
    }
  }
}

/// A random number generator that gives the same numbers for a seed on every machine.
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
