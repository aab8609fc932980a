/// A value that was to be a number, of which ArgumentParser says that it is invalid, and no more.
struct RefusedNumber {
  /// What follows the sentence about the value.
  let remedy: String

  /// What the sentence ends in, and what is allowed; the first that fits counts.
  private static let allowed = [
    ("--speed <n>'", "a number, such as 2 or 0.5"), (" <n>'", "a whole number without a unit"),
    (" <s>'", "a number of seconds without a unit"),
    (" <bytes>'", "a whole number of bytes without a unit"),
    (" <ssrc>'", "a whole number, or hexadecimal digits after 0x"),
  ]

  /// Finds it in `words`; `nil` if they are about something else, or if it is a whole number, which
  /// is beyond what the option takes.
  init?(in words: String) {
    let (beginning, middle) = ("The value '", "' is invalid for '")
    guard words.hasPrefix(beginning), let end = words.firstRange(of: middle)?.lowerBound,
      Int(words[..<end].dropFirst(beginning.count)) == nil,
      let allowed = Self.allowed.first(where: { words.hasSuffix($0.0) })?.1
    else { return nil }
    remedy = "; it takes \(allowed)"
  }
}
