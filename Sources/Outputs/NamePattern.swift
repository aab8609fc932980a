import Glibc
public import RTPWire

/// The names of an output's files: a path whose file name has places for the time or for a number.
///
/// Times are in UTC, with the letters of strftime(3) and `%f` for the microsecond. `%05d` is the
/// file's number. So is `%d`, unless there is another place for the time: beside one, it is the
/// day. `%%` is a percent sign. The folder is taken as it is, percent signs included.
public struct NamePattern: Sendable, Hashable {
  /// A part of the file name.
  private enum Part: Sendable, Hashable {
    case text(String)
    /// Digits of the time, by the letter that stands for them.
    case time(Character)
    /// The file's number, with zeros before it up to a width.
    case number(width: Int)
  }

  /// Why a path cannot be a pattern.
  public enum PatternError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What follows a percent sign, and whether a number could.
    case unknown(String, allowsNumbers: Bool)
    /// A place for a number, where files have none.
    case number

    public var description: String {
      switch self {
      case .unknown(let text, let allowsNumbers):
        "%\(text) is no part of a time: there are "
          + (Array(NamePattern.letters.keys) + NamePattern.abbreviations.keys).sorted()
          .map { "%\($0)" }.joined(separator: " ")
          + (allowsNumbers ? ", %05d for a number" : "") + ", and %% for a percent sign"
      case .number:
        "a recording's files are named by their time, such as %Y%m%dT%H%M%SZ, not by a number"
      }
    }
  }

  /// How many digits stand for each letter: year, month, day, day of the year, hour, minute,
  /// second, microsecond, seconds since 1970.
  private static let letters: [Character: Int] = [
    "Y": 4, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "M": 2, "S": 2, "f": 6, "s": 10,
  ]
  /// Letters for several parts at once.
  private static let abbreviations: [Character: [Part]] = [
    "F": [.time("Y"), .text("-"), .time("m"), .text("-"), .time("d")],
    "T": [.time("H"), .text(":"), .time("M"), .text(":"), .time("S")],
    "z": [.text("+0000")],
  ]
  /// The most files of one name, which differ in the number behind it.
  static let mostOfOneName = 9999
  /// What stands before the number of one of them: behind the dot of an ending in ASCII, and behind
  /// the letters of endings where languages sort.
  private static let clashMark = "x"
  private static let clashDigits = 4
  /// The most digits that can be asked for.
  private static let widest = 18
  /// The digits of numbers that the path does not ask for: a picture a second for eleven days.
  private static let usualWidth = 6

  /// With the slash at its end; empty for the working directory.
  public let folder: String
  private var parts: [Part] = []
  /// With its dot; empty for none.
  private let ending: String

  /// The names that `path` stands for.
  ///
  /// - Parameters:
  ///   - path: with places for the time, for numbers, or for neither.
  ///   - allowsNumbers: whether the files have numbers.
  /// - Throws: ``PatternError``.
  public init(_ path: String, allowsNumbers: Bool) throws(PatternError) {
    var name: Substring
    (folder, name, ending) = Self.divided(path)
    while let character = name.popFirst() {
      guard character == "%" else {
        append(.text(String(character)))
        continue
      }
      let digits = name.prefix { $0.isASCIIDigit }
      name = name.dropFirst(digits.count)
      guard let letter = name.popFirst() else {
        throw .unknown(String(digits), allowsNumbers: allowsNumbers)
      }
      switch (letter, Int(digits)) {
      case ("%", _) where digits.isEmpty: append(.text("%"))
      case ("d", let width?) where width <= Self.widest: append(.number(width: width))
      case (let letter, _) where digits.isEmpty && Self.letters[letter] != nil:
        append(.time(letter))
      case (let letter, _) where digits.isEmpty && Self.abbreviations[letter] != nil:
        for part in Self.abbreviations[letter] ?? [] { append(part) }
      default: throw .unknown("\(digits)\(letter)", allowsNumbers: allowsNumbers)
      }
    }
    let hasOtherTime = parts.contains { part in
      if case .time(let letter) = part { letter != "d" } else { false }
    }
    if !hasOtherTime { parts = parts.map { $0 == .time("d") ? .number(width: 1) : $0 } }
    if hasNumber, !allowsNumbers { throw .number }
  }

  /// The names of the pieces of `path`, which has no place for the time: it is put behind the name.
  public init(piecesOf path: String) {
    let name: Substring
    (folder, name, ending) = Self.divided(path)
    append(.text("\(name)-"))
    for letter in "Ymd" { append(.time(letter)) }
    append(.text("T"))
    for letter in "HMS" { append(.time(letter)) }
    append(.text("Z"))
  }

  /// Whether the file name in `path` has anything to replace.
  public static func isPattern(_ path: String) -> Bool { divided(path).name.contains("%") }

  /// The names with numbers before their endings, where there are neither numbers nor times.
  var numbered: NamePattern {
    guard isSingle else { return self }
    var copy = self
    copy.append(.text("-"))
    copy.append(.number(width: Self.usualWidth))
    return copy
  }

  /// Whether all files have the same name.
  var isSingle: Bool { !hasTime && !hasNumber }

  /// Whether the names say a time, so that no file replaces another.
  var hasTime: Bool { parts.contains { if case .time = $0 { true } else { false } } }

  private var hasNumber: Bool { parts.contains { if case .number = $0 { true } else { false } } }

  private mutating func append(_ part: Part) {
    if case .text(let text) = part, case .text(let before)? = parts.last {
      parts[parts.count - 1] = .text(before + text)
    } else {
      parts.append(part)
    }
  }

  /// The folder of `path`, the file name without its ending, and that with its dot.
  private static func divided(
    _ path: String
  ) -> (folder: String, name: Substring, ending: String) {
    let cut = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let ending = OutputTarget.ending(of: path).map { ".\($0)" } ?? ""
    // What has a place for the time is no ending.
    guard !ending.contains("%") else { return (String(path[..<cut]), path[cut...], "") }
    return (String(path[..<cut]), path[cut...].dropLast(ending.count), ending)
  }

  /// The path of a file whose first picture came at `time`; `clash` numbers those that would have
  /// one name, from 0.
  public func path(at time: WallClockTime, number: Int = 0, clash: Int = 0) -> String {
    let fields = Self.fields(of: time)
    let name = parts.map { part in
      switch part {
      case .text(let text): text
      case .time(let letter):
        Self.padded(fields[letter] ?? 0, to: Self.letters[letter] ?? 0)
      case .number(let width): Self.padded(number, to: width)
      }
    }
    return folder + name.joined()
      + (clash > 0 ? Self.clashMark + Self.padded(clash, to: Self.clashDigits) : "") + ending
  }

  /// The number in `name`, which is one of these names; `nil` if it has none, or too large a one.
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

  /// Whether a file of this name, in the folder, is one of these.
  func matches(_ name: String) -> Bool {
    // Byte by byte: names that only look alike are those of other files.
    guard name.utf8.reversed().starts(with: ending.utf8.reversed()) else { return false }
    var rest = name.utf8.dropLast(ending.utf8.count)
    for part in parts {
      switch part {
      case .text(let text):
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
      case .time(let letter):
        let count = Self.letters[letter] ?? 0
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return false }
        rest = rest.dropFirst(count)
      case .number(let width):
        let digits = rest.prefix(while: Self.isDigit)
        guard !digits.isEmpty, digits.count >= width else { return false }
        rest = rest.dropFirst(digits.count)
      }
    }
    guard !rest.isEmpty else { return true }
    let mark = Self.clashMark.utf8
    let digits = rest.dropFirst(mark.count)
    return rest.starts(with: mark) && digits.count == Self.clashDigits
      && digits.allSatisfy(Self.isDigit)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func padded(_ number: Int, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// What each letter stands for.
  private static func fields(of time: WallClockTime) -> [Character: Int] {
    var (seconds, part) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    if part < 0 { (seconds, part) = (seconds - 1, part + 1_000_000_000) }
    var moment = time_t(seconds)
    var fields = unsafe tm()
    guard unsafe gmtime_r(&moment, &fields) != nil else { return [:] }
    let year = unsafe Int(fields.tm_year) + 1900
    return unsafe [
      "Y": year, "y": year % 100, "m": Int(fields.tm_mon) + 1, "d": Int(fields.tm_mday),
      "j": Int(fields.tm_yday) + 1, "H": Int(fields.tm_hour), "M": Int(fields.tm_min),
      "S": Int(fields.tm_sec), "f": Int(part / 1000), "s": moment,
    ]
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
