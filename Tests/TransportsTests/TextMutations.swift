import TestSupport

/// Broken forms of a text, the same for the same seed.
struct TextMutations {
  private let whole: [UInt8]
  private var random: SeededGenerator

  init(seed: UInt64, _ text: String) {
    whole = Array(text.utf8)
    random = SeededGenerator(seed: seed)
  }

  mutating func next() -> String {
    var bytes = whole
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.remove(at: at)
      case 2: bytes.insert(contentsOf: bytes[..<at], at: at)
      case 3: bytes.insert(Self.marks[at % Self.marks.count], at: at)
      default: bytes.removeSubrange(at...)
      }
      if bytes.isEmpty { bytes = whole }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What means something in one of the texts.
  private static let marks = Array("/?#@:;,=[]%\" *-.$\r\n0".utf8)
}
