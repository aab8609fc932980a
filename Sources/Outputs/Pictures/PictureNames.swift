import Glibc
import RTPWire

/// The names of picture files, from a path with or without a pattern.
///
/// `%d` and `%05d` are replaced by the picture's number; beside `%Y`, `%m`, `%H`, `%M`, `%S`, … of
/// strftime(3), which are replaced by the time in UTC, `%d` is the day. `%%` is a percent sign.
public struct PictureNames: Sendable {
  private enum Part: Sendable, Hashable {
    case text(String)
    case number(width: Int)
    case time(Character)
  }

  private static let timeLetters: Set<Character> = [
    "Y", "y", "m", "d", "j", "H", "M", "S", "s", "F", "T", "z",
  ]
  /// The most digits that can be asked for.
  private static let widest = 18
  /// The digits of numbers that the path does not ask for: a picture a second for eleven days.
  private static let usualWidth = 6

  private var parts: [Part] = []

  /// Reads `path`; `nil` if something else follows a percent sign.
  public init?(_ path: String) {
    var rest = path[...]
    while let sign = rest.firstIndex(of: "%") {
      append(String(rest[..<sign]))
      rest = rest[sign...].dropFirst()
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      guard let letter = rest.dropFirst(digits.count).first else { return nil }
      switch (letter, Int(digits)) {
      case ("%", _) where digits.isEmpty: append("%")
      case ("d", let width?) where width <= Self.widest: parts.append(.number(width: width))
      case (let letter, _) where digits.isEmpty && Self.timeLetters.contains(letter):
        parts.append(.time(letter))
      default: return nil
      }
      rest = rest.dropFirst(digits.count + 1)
    }
    append(String(rest))
    let hasTime = parts.contains { if case .time(let letter) = $0 { letter != "d" } else { false } }
    if !hasTime { parts = parts.map { $0 == .time("d") ? .number(width: 1) : $0 } }
  }

  private mutating func append(_ text: String) {
    guard !text.isEmpty else { return }
    if case .text(let before)? = parts.last {
      parts[parts.count - 1] = .text(before + text)
    } else {
      parts.append(.text(text))
    }
  }

  /// Whether all pictures have the same name.
  var isSingle: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  /// The names with numbers before their endings, where there are neither numbers nor times.
  var numbered: PictureNames {
    guard isSingle else { return self }
    var copy = self
    let path = name(ofPicture: 0, at: 0)
    let ending = OutputTarget.ending(of: path).map { "." + $0 } ?? ""
    copy.parts = [
      .text(path.dropLast(ending.count) + "-"), .number(width: Self.usualWidth), .text(ending),
    ]
    return copy
  }

  /// The name of a picture; `time` is in seconds since 1970.
  func name(ofPicture number: Int, at time: Int) -> String {
    parts.map { part in
      switch part {
      case .text(let text): return text
      case .number(let width):
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
      case .time(let letter): return Self.formatted(time, letter)
      }
    }.joined()
  }

  private static func formatted(_ time: Int, _ letter: Character) -> String {
    var time = time_t(time)
    var fields = unsafe tm()
    guard unsafe gmtime_r(&time, &fields) != nil else { return "" }
    if letter == "s" { return "\(time)" }
    var bytes = [CChar](repeating: 0, count: 32)
    let count = unsafe strftime(&bytes, bytes.count, "%\(letter)", &fields)
    return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
