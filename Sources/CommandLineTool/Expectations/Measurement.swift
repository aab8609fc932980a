/// What a metric of `--expect` came to.
enum Measurement: Sendable, Hashable {
  /// In the metric's unit.
  case number(Double)
  /// So many of more than 0 in all.
  case part(Double, of: Double)
  /// No less than this; how much more is not known, for the reason given.
  case atLeast(Double, String)
  /// Every value that occurred.
  case words([String])
  /// It could not be measured, for the reason given.
  case unknown(String)

  static func of(_ number: Double?, else reason: String) -> Measurement {
    number.map { .number($0) } ?? .unknown(reason)
  }

  /// Why it could not be measured; `nil` if it was.
  var reason: String? {
    switch self {
    case .number, .part, .words: nil
    case .atLeast(_, let reason), .unknown(let reason): reason
    }
  }
}

extension Expectation {
  /// Whether `measurement` is as expected; `nil` if it does not say.
  func isMet(by measurement: Measurement) -> Bool? {
    switch (measurement, value) {
    case (.part(let measured, of: let all), .share(let expected)):
      return compare(Self.rounded(measured / all), Self.rounded(expected))
    case (.number(let measured), .number(let expected)),
      (.part(let measured, _), .number(let expected)):
      return compare(Self.rounded(measured), Self.rounded(expected))
    case (.atLeast(let least, _), .number(let expected)):
      let (least, expected) = (Self.rounded(least), Self.rounded(expected))
      // Whatever is added does not change the answer.
      return switch comparison {
      case .atMost, .equal: least > expected ? false : nil
      case .less: least >= expected ? false : nil
      case .atLeast: least >= expected ? true : nil
      case .more, .notEqual: least > expected ? true : nil
      }
    case (.words(let found), .word(let expected)):
      return found.allSatisfy { ($0 == expected) == (comparison == .equal) }
    case (.unknown, _), (.words, _), (.number, _), (.part, _), (.atLeast, _):
      return nil
    }
  }

  private func compare(_ measured: Double, _ expected: Double) -> Bool {
    switch comparison {
    case .atMost: measured <= expected
    case .atLeast: measured >= expected
    case .notEqual: measured != expected
    case .less: measured < expected
    case .more: measured > expected
    case .equal: measured == expected
    }
  }

  /// A quotient that should be 30 may be a little less; one packet in a billion is still not none.
  private static func rounded(_ value: Double) -> Double { (value * 1e9).rounded() / 1e9 }
}
