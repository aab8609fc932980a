package import RTPWire

/// One JSON object on one line, its members in the order in which they are added.
package struct JSONLine: Sendable {
  private var members: [String] = []

  /// The object, without a line end.
  package var text: String { "{" + members.joined(separator: ",") + "}" }

  package init() {}

  /// An object of all counters in a table.
  package init(countersOf statistics: some Counted) { add(countersOf: statistics) }

  package mutating func add(countersOf statistics: some Counted) {
    for (name, count) in statistics.counts { add(name, count) }
  }

  package mutating func add(_ name: String, _ value: some BinaryInteger) {
    members.append("\(Self.quote(name)):\(value)")
  }

  package mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
    members.append("\(Self.quote(name)):\(value.map { "\($0)" } ?? "null")")
  }

  /// Adds a number with `digits` decimal places; one that is not finite becomes `null`.
  package mutating func add(_ name: String, _ value: Double?, digits: Int = 3) {
    guard let value, value.isFinite else {
      members.append("\(Self.quote(name)):null")
      return
    }
    members.append("\(Self.quote(name)):\(value.formatted(digits: digits))")
  }

  package mutating func add(_ name: String, _ value: String?) {
    members.append("\(Self.quote(name)):\(value.map(Self.quote) ?? "null")")
  }

  package mutating func add(_ name: String, _ value: Bool?) {
    members.append("\(Self.quote(name)):\(value.map { "\($0)" } ?? "null")")
  }

  package mutating func add(_ name: String, _ values: [String]) {
    members.append("\(Self.quote(name)):[\(values.map(Self.quote).joined(separator: ","))]")
  }

  package mutating func add(_ name: String, _ value: JSONLine) {
    members.append("\(Self.quote(name)):\(value.text)")
  }

  package mutating func add(_ name: String, _ values: [JSONLine]) {
    members.append("\(Self.quote(name)):[\(values.map(\.text).joined(separator: ","))]")
  }

  private static func quote(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      // Names from the far end may hold characters that control a terminal or reverse the text.
      case _ where Self.isInvisible(scalar) && scalar.value <= 0xFFFF:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension Double {
  /// The number with exactly `digits` decimal places, without a locale.
  package func formatted(digits: Int) -> String {
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    guard let scaled = Int64(exactly: (magnitude * scale).rounded()) else { return "\(self)" }
    let whole = scaled / Int64(scale)
    let sign = self < 0 && scaled != 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(whole)" }
    let fraction = String(scaled % Int64(scale))
    return "\(sign)\(whole)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }
}
