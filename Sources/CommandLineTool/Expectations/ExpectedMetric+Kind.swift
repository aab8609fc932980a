extension ExpectedMetric {
  /// What a metric's values are.
  enum Kind: Sendable, Hashable {
    /// How many.
    case count
    /// How many of the frames, or which share of them.
    case part
    /// A part of the whole, from 0 to 1.
    case share
    /// In seconds.
    case time
    /// Times a second.
    case rate
    /// In bits a second.
    case bitRate
    /// Width and height.
    case size
    case name

    private static let bitRates: [(unit: String, factor: Double)] = [
      ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1),
    ]

    var comparisons: [Expectation.Comparison] {
      switch self {
      case .size, .name: [.equal, .notEqual]
      case .count, .part, .share, .time, .rate, .bitRate: Expectation.Comparison.allCases
      }
    }

    /// The unit in which measured values are given; `nil` if there is none.
    var unit: String? {
      switch self {
      case .count, .part, .size, .name: nil
      case .share: "%"
      case .time: "s"
      case .rate: "1/s"
      case .bitRate: "bit/s"
      }
    }

    /// Whether measured values are whole numbers.
    var isWhole: Bool { self == .count || self == .part }

    var examples: String {
      switch self {
      case .count: "a whole number"
      case .part: "a whole number, or a share of the frames such as 100%"
      case .share: "0.1% or 0.001"
      case .time: "0.5s, 500ms or 5m"
      case .rate: "a number, such as 24"
      case .bitRate: "2Mbit/s or 500kbit/s"
      case .size: "1920x1080"
      case .name: "a name, such as h264 or none"
      }
    }

    /// The value that `text` says; `nil` if it says none.
    func value(_ text: String) -> Expectation.Value? {
      switch self {
      case .count: Self.count(text)
      case .part where text.hasSuffix("%"): Self.share(text).map(Expectation.Value.share)
      case .part: Self.count(text)
      case .rate: Self.number(text[...]).map { .number($0) }
      case .share: Self.share(text).map(Expectation.Value.number)
      case .time: TimeSpan(text).map { .number($0.seconds) }
      case .bitRate: Self.quantity(text, in: Self.bitRates)
      case .size: Self.size(text)
      case .name: Self.name(text)
      }
    }

    private static func count(_ text: String) -> Expectation.Value? {
      UInt32(text).map { .number(Double($0)) }
    }

    /// A bare 1 is refused: who means one percent would get a rule that always holds.
    private static func share(_ text: String) -> Double? {
      guard text.hasSuffix("%") else { return number(text[...]).flatMap { $0 < 1 ? $0 : nil } }
      return number(text.dropLast()).flatMap { $0 <= 100 ? $0 / 100 : nil }
    }

    private static func quantity(
      _ text: String, in units: [(unit: String, factor: Double)]
    ) -> Expectation.Value? {
      guard let (unit, factor) = units.first(where: { text.hasSuffix($0.unit) }),
        let number = number(text.dropLast(unit.count))
      else { return nil }
      return .number(number * factor)
    }

    private static func size(_ text: String) -> Expectation.Value? {
      let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false)
      let sides = parts.compactMap { UInt16($0) }
      guard parts.count == 2, sides.count == 2 else { return nil }
      return .word("\(sides[0])x\(sides[1])")
    }

    private static func name(_ text: String) -> Expectation.Value? {
      let isName = text.allSatisfy {
        $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0))
      }
      return isName && !text.isEmpty ? .word(text.lowercased()) : nil
    }

    /// A number of digits and at most one point: no sign, no exponent, no "inf".
    private static func number(_ text: Substring) -> Double? {
      guard text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) else { return nil }
      return Double(text)
    }
  }
}
