/// The names of the files that one writer writes one after the other: one name, or a pattern.
///
/// In a pattern `*` and `?` stand for any characters, and what writers count or tell the time by
/// (`%05d`, `%Y`, `%H` and so on) for digits.
struct FileNames: Sendable, Equatable {
  /// Where they are.
  let directory: String
  /// Whether there is more than one name.
  let isPattern: Bool
  private let tokens: [Token]

  private enum Token: Equatable {
    case character(Character)
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
    var rest = name
    while let character = rest.popFirst() {
      switch character {
      case "*": tokens.append(.any)
      case "?": tokens.append(.anyCharacter)
      case "%":
        let field = rest.prefix { $0.isNumber || $0 == "-" }
        guard let letter = rest.dropFirst(field.count).first, letter.isLetter else {
          tokens.append(.character("%"))
          if rest.first == "%" { rest.removeFirst() }
          continue
        }
        rest = rest.dropFirst(field.count + 1)
        tokens.append("diuYymHIMSsjGVUWCgk".contains(letter) ? .digits : .any)
      default: tokens.append(.character(character))
      }
    }
    self.tokens = tokens
    isPattern = tokens.contains { if case .character = $0 { false } else { true } }
  }

  /// Whether a file of this name is one of them.
  func matches(_ name: String) -> Bool {
    // All places in the pattern that can be reached with the characters so far.
    var places: Set<Int> = [0]
    func skippingAny(_ places: Set<Int>) -> Set<Int> {
      var places = places
      for place in places.sorted() {
        var place = place
        while place < tokens.count, tokens[place] == .any {
          place += 1
          places.insert(place)
        }
      }
      return places
    }
    places = skippingAny(places)
    for character in name {
      var next: Set<Int> = []
      for place in places where place <= tokens.count {
        if place > 0, tokens[place - 1] == .digits, character.isNumber { next.insert(place) }
        guard place < tokens.count else { continue }
        switch tokens[place] {
        case .character(let expected) where expected == character: next.insert(place + 1)
        case .anyCharacter: next.insert(place + 1)
        case .any: next.insert(place)
        case .digits where character.isNumber: next.insert(place + 1)
        default: break
        }
      }
      places = skippingAny(next)
    }
    return places.contains(tokens.count)
  }

  /// Whether `one` comes before `other`: digits count as numbers.
  static func isOrdered(_ one: String, before other: String) -> Bool {
    var (one, other) = (one.unicodeScalars[...], other.unicodeScalars[...])
    func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
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
