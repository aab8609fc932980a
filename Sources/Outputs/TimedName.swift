/// The name of a file without its ending, or of a folder, with places for the time or for a number.
struct TimedName: Sendable, Hashable {
  /// A part of the name.
  private enum Part: Sendable, Hashable {
    case text(String)
    /// Digits of the time, by the letter that stands for them.
    case time(Character)
    /// The file's number, with zeros before it up to a width.
    case number(width: Int)
  }

  /// How many digits stand for each letter: year, month, day, day of the year, hour, minute,
  /// second, microsecond, seconds since 1970.
  static let letters: [Character: Int] = [
    "Y": 4, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "M": 2, "S": 2, "f": 6, "s": 10,
  ]
  /// The numbers that the digits of a letter can be; of the other letters, any.
  private static let ranges: [Character: ClosedRange<Int>] = [
    "m": 1...12, "d": 1...31, "j": 1...366, "H": 0...23, "M": 0...59,
    // With a leap second.
    "S": 0...60,
  ]
  /// Letters for several parts at once, and what they stand for.
  static let abbreviations: [Character: String] = ["F": "%Y-%m-%d", "T": "%H:%M:%S", "z": "+0000"]
  /// The most digits that can be asked for.
  private static let widest = 18
  /// The digits of numbers that the path does not ask for: a picture a second for eleven days.
  private static let usualWidth = 6

  private var parts: [Part] = []

  /// A name without places.
  init(literal text: some StringProtocol) { parts = [.text(String(text))] }

  /// The name that `text` stands for; `%d` is the day until ``numberDays()``.
  ///
  /// - Throws: what follows a percent sign and has no meaning.
  init(_ text: Substring) throws(UnknownLetter) {
    var text = text
    while let character = text.popFirst() {
      guard character == "%" else {
        append(.text(String(character)))
        continue
      }
      let digits = text.prefix { $0.isASCIIDigit }
      text = text.dropFirst(digits.count)
      guard let letter = text.popFirst() else { throw UnknownLetter(text: String(digits)) }
      switch (letter, Int(digits)) {
      case ("%", _) where digits.isEmpty: append(.text("%"))
      case ("d", let width?) where width <= Self.widest: append(.number(width: width))
      case (let letter, _) where digits.isEmpty && Self.letters[letter] != nil:
        append(.time(letter))
      case (let letter, _) where digits.isEmpty && Self.abbreviations[letter] != nil:
        for part in try TimedName(Self.abbreviations[letter].map { $0[...] } ?? "").parts {
          append(part)
        }
      default: throw UnknownLetter(text: "\(digits)\(letter)")
      }
    }
  }

  /// What follows a percent sign.
  struct UnknownLetter: Error {
    let text: String
  }

  /// The name of a piece of what is called `text`: the time is put behind it.
  init(pieceOf text: Substring) {
    append(.text("\(text)-"))
    for letter in "Ymd" { append(.time(letter)) }
    append(.text("T"))
    for letter in "HMS" { append(.time(letter)) }
    append(.text("Z"))
  }

  private mutating func append(_ part: Part) {
    if case .text(let text) = part, case .text(let before)? = parts.last {
      parts[parts.count - 1] = .text(before + text)
    } else {
      parts.append(part)
    }
  }

  var hasTime: Bool { parts.contains { if case .time = $0 { true } else { false } } }

  /// Whether it says more of the time than the day of the month.
  var saysMoreThanDays: Bool {
    parts.contains { if case .time(let letter) = $0 { letter != "d" } else { false } }
  }

  var hasNumber: Bool { parts.contains { if case .number = $0 { true } else { false } } }

  /// Has the places for the day take the file's number.
  mutating func numberDays() { parts = parts.map { $0 == .time("d") ? .number(width: 1) : $0 } }

  /// Puts a number behind it.
  mutating func appendNumber() {
    append(.text("-"))
    append(.number(width: Self.usualWidth))
  }

  /// The name at a time, whose parts `fields` has by their letters.
  func text(at fields: [Character: Int], number: Int = 0) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .time(let letter): Self.padded(fields[letter] ?? 0, to: Self.letters[letter] ?? 0)
      case .number(let width): Self.padded(number, to: width)
      }
    }.joined()
  }

  /// The number in `name`, which is one of these; `nil` if it has none, or too large a one.
  func number(in name: String) -> Int? {
    var rest = name.utf8[...]
    for part in parts {
      switch part {
      case .text(let text): rest = rest.dropFirst(text.utf8.count)
      case .time(let letter): rest = rest.dropFirst(Self.letters[letter] ?? 0)
      case .number: return Int(String(decoding: rest.prefix(while: Self.isDigit), as: UTF8.self))
      }
    }
    return nil
  }

  /// What follows in `name`, which begins with one of these; `nil` if it does not.
  ///
  /// Byte by byte: names that only look alike are those of other files.
  func rest(of name: Substring.UTF8View) -> Substring.UTF8View? {
    var rest = name
    for part in parts {
      switch part {
      case .text(let text):
        guard rest.starts(with: text.utf8) else { return nil }
        rest = rest.dropFirst(text.utf8.count)
      case .time(let letter):
        let count = Self.letters[letter] ?? 0
        let digits = rest.prefix(count)
        guard digits.count == count, Self.isTime(digits, letter) else { return nil }
        rest = rest.dropFirst(count)
      case .number(let width):
        let digits = rest.prefix(while: Self.isDigit)
        guard !digits.isEmpty, digits.count >= width else { return nil }
        rest = rest.dropFirst(digits.count)
      }
    }
    return rest
  }

  /// Whether `digits` can stand for `letter`: what is no time is the name of another file.
  private static func isTime(_ digits: Substring.UTF8View, _ letter: Character) -> Bool {
    guard digits.allSatisfy(isDigit) else { return false }
    guard let range = ranges[letter] else { return true }
    return Int(String(decoding: digits, as: UTF8.self)).map { range.contains($0) } ?? false
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  static func padded(_ number: Int, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
