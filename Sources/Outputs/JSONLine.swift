package import RTPWire

/// One JSON object on one line, its members in the order in which they are added.
///
/// It is a buffer of bytes, because a fleet writes hundreds of lines a second.
package struct JSONLine: Sendable {
  /// The members, with commas between them, in UTF-8.
  private var members: [UInt8] = []

  /// The object, without a line end.
  package var text: String { "{" + String(decoding: members, as: UTF8.self) + "}" }

  package init() {}

  /// An object of all counters in a table.
  package init(countersOf statistics: some Counted) { add(countersOf: statistics) }

  package mutating func add(countersOf statistics: some Counted) {
    for (name, count) in statistics.counts { add(name, count) }
  }

  package mutating func add(_ name: String, _ value: some BinaryInteger) {
    begin(name)
    append("\(value)")
  }

  package mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
    begin(name)
    append(value.map { "\($0)" } ?? "null")
  }

  /// Adds a number with `digits` decimal places; one that is not finite becomes `null`.
  package mutating func add(_ name: String, _ value: Double?, digits: Int = 3) {
    begin(name)
    append(value.flatMap { $0.isFinite ? $0.formatted(digits: digits) : nil } ?? "null")
  }

  package mutating func add(_ name: String, _ value: String?) {
    begin(name)
    if let value { quote(value) } else { append("null") }
  }

  package mutating func add(_ name: String, _ value: Bool?) {
    begin(name)
    append(value.map { "\($0)" } ?? "null")
  }

  package mutating func add(_ name: String, _ values: [String]) {
    begin(name)
    list(values) { $0.quote($1) }
  }

  package mutating func add(_ name: String, _ value: JSONLine) {
    begin(name)
    append(value)
  }

  package mutating func add(_ name: String, _ values: [JSONLine]) {
    begin(name)
    list(values) { $0.append($1) }
  }

  // MARK: - Bytes

  private mutating func begin(_ name: String) {
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    quote(name)
    members.append(UInt8(ascii: ":"))
  }

  private mutating func append(_ text: String) { members.append(contentsOf: text.utf8) }

  private mutating func append(_ object: JSONLine) {
    members.append(UInt8(ascii: "{"))
    members.append(contentsOf: object.members)
    members.append(UInt8(ascii: "}"))
  }

  private mutating func list<Value>(_ values: [Value], _ add: (inout Self, Value) -> Void) {
    members.append(UInt8(ascii: "["))
    for (number, value) in values.enumerated() {
      if number > 0 { members.append(UInt8(ascii: ",")) }
      add(&self, value)
    }
    members.append(UInt8(ascii: "]"))
  }

  private mutating func quote(_ text: String) {
    members.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy(Self.isPlain) { append(text) } else { escape(text) }
    members.append(UInt8(ascii: "\""))
  }

  /// Whether a byte stands for itself: visible ASCII but quotation marks and backslashes.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private mutating func escape(_ text: String) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": append("\\\"")
      case "\\": append("\\\\")
      // Names from the far end may hold characters that control a terminal or reverse the text.
      case _ where Self.isInvisible(scalar) && scalar.value <= 0xFFFF:
        let digits = String(scalar.value, radix: 16)
        append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
      default: append(String(scalar))
      }
    }
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
