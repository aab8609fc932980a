import ArgumentParser

/// A length of time, as people write it: `500ms`, `0.5s`, `90s`, `10m`, `1h`, `7d`.
struct TimeSpan: Sendable, Hashable {
  /// Units in nanoseconds; the first that a text ends in is meant.
  private static let units: [(name: String, nanoseconds: Double)] = [
    ("us", 1e3), ("ms", 1e6), ("min", 60e9), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
    ("d", 86_400e9), ("w", 604_800e9),
  ]
  /// A hundred years in nanoseconds.
  private static let longest = 3.1536e18

  let duration: Duration

  /// Reads a number and its unit; `nil` for anything else, and for more than a hundred years.
  init?(_ text: String) {
    guard let unit = Self.units.first(where: { text.hasSuffix($0.name) }) else { return nil }
    let number = text.dropLast(unit.name.count)
    // No sign, no exponent, no "inf".
    guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
      let nanoseconds = Double(number).map({ ($0 * unit.nanoseconds).rounded() }),
      nanoseconds <= Self.longest
    else { return nil }
    duration = .nanoseconds(Int64(nanoseconds))
  }

  var seconds: Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
  }
}

extension TimeSpan {
  static let unitNames = "us, ms, s, m, h, d, w"

  /// An option's value, which is more than nothing.
  init?(argument: String) {
    self.init(argument)
    guard duration > .zero else { return nil }
  }

  /// Reads an option's value.
  static func read(_ text: String) throws -> TimeSpan {
    guard let time = TimeSpan(argument: text) else {
      throw ValidationError(
        TimeSpan(text) != nil
          ? "this time must be more than 0"
          : "a time is a number and its unit, such as 90s or 10m: \(unitNames)")
    }
    return time
  }
}
