/// The names of the files that one writer writes one after the other: one name, or a pattern.
///
/// In a pattern `*` and `?` stand for any characters, and what writers count or tell the time by
/// (`%05d`, `%Y`, `%H` and so on) for digits.
struct FileNames: Sendable, Equatable {
  /// Where they are.
  let directory: String
  /// The only name; `nil` for a pattern.
  let onlyName: String?
  private let tokens: [Token]

  private enum Token: Equatable {
    case character(Unicode.Scalar)
    case anyCharacter
    /// Any number of characters.
    case any
    /// One digit or more.
    case digits
  }

  /// Reads a path; only what follows its last slash is a pattern.
  init(_ path: String) {
    let slash = path.lastIndex(of: "/")
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    var tokens: [Token] = []
    var rest = name.unicodeScalars
    while let character = rest.popFirst() {
      switch character {
      case "*": tokens.append(.any)
      case "?": tokens.append(.anyCharacter)
      case "%":
        let field = rest.prefix { Self.isDigit($0) || $0 == "-" }
        guard let letter = rest.dropFirst(field.count).first, letter.properties.isAlphabetic else {
          tokens.append(.character("%"))
          if rest.first == "%" { rest.removeFirst() }
          continue
        }
        rest = rest.dropFirst(field.count + 1)
        tokens.append("diuYymHIMSsjGVUWCgk".unicodeScalars.contains(letter) ? .digits : .any)
      default: tokens.append(.character(character))
      }
    }
    self.tokens = tokens
    var only = String.UnicodeScalarView()
    for case .character(let character) in tokens { only.append(character) }
    onlyName = only.count == tokens.count ? String(only) : nil
  }

  /// Whether a file of this name is one of them.
  func matches(_ name: String) -> Bool {
    // The places in the pattern that can be reached with the characters so far.
    var places = [Bool](repeating: false, count: tokens.count + 1)
    places[0] = true
    skipAny(&places)
    for character in name.unicodeScalars {
      var next = [Bool](repeating: false, count: places.count)
      for place in places.indices where places[place] {
        if place > 0, tokens[place - 1] == .digits, Self.isDigit(character) { next[place] = true }
        guard place < tokens.count else { continue }
        switch tokens[place] {
        case .character(let expected) where expected == character: next[place + 1] = true
        case .anyCharacter: next[place + 1] = true
        case .any: next[place] = true
        case .digits where Self.isDigit(character): next[place + 1] = true
        default: break
        }
      }
      skipAny(&next)
      places = next
    }
    return places[tokens.count]
  }

  private func skipAny(_ places: inout [Bool]) {
    for (place, token) in tokens.enumerated() where token == .any && places[place] {
      places[place + 1] = true
    }
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(scalar)
  }

  /// Whether `one` comes before `other`: digits count as numbers.
  static func isOrdered(_ one: String, before other: String) -> Bool {
    var (one, other) = (one.unicodeScalars[...], other.unicodeScalars[...])
    while let first = one.first, let second = other.first {
      if isDigit(first), isDigit(second) {
        let numbers = [one.prefix(while: isDigit), other.prefix(while: isDigit)]
        one = one.dropFirst(numbers[0].count)
        other = other.dropFirst(numbers[1].count)
        let digits = numbers.map { Array($0.drop { $0 == "0" }) }
        if digits[0].count != digits[1].count { return digits[0].count < digits[1].count }
        if let pair = zip(digits[0], digits[1]).first(where: { $0 != $1 }) {
          return pair.0 < pair.1
        }
      } else {
        if first != second { return first < second }
        one.removeFirst()
        other.removeFirst()
      }
    }
    return one.isEmpty && !other.isEmpty
  }
}
