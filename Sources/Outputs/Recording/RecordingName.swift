public import RTPWire

/// The names of the files of a recording: a path with places for the time of the first picture.
public struct RecordingName: Sendable, Hashable {
  /// A part of the file name.
  private enum Part: Sendable, Hashable {
    case text(String)
    /// Digits of the time, by the letter that stands for them.
    case time(Character)
  }

  /// Why a path cannot be a pattern.
  public enum PatternError: Error, Sendable, Hashable, CustomStringConvertible {
    case unknown(Character?)
    case inFolder

    public var description: String {
      switch self {
      case .unknown(let letter):
        "%\(letter.map { "\($0)" } ?? "") is no part of a time: there are "
          + RecordingName.letters.keys.sorted().map { "%\($0)" }.joined(separator: " ")
          + ", and %% for a percent sign"
      case .inFolder: "only the file name can contain the time, not the folder"
      }
    }
  }

  /// How many digits stand for each letter, as in strftime(3): year, month, day, hour, minute,
  /// second, microsecond.
  fileprivate static let letters: [Character: Int] = [
    "Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "f": 6,
  ]
  /// The most files of one name, which differ in the number behind it.
  static let mostOfOneName = 9999

  /// With the slash at its end; empty for the working directory.
  public let folder: String
  private let parts: [Part]
  /// With its dot; empty for none.
  private let ending: String

  /// The names that `path` stands for, with `%Y%m%dT%H%M%SZ` and the like for the time in UTC.
  ///
  /// - Throws: ``PatternError``.
  public init(pattern path: String) throws(PatternError) {
    let cut = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    folder = String(path[..<cut])
    guard !folder.contains("%") else { throw .inFolder }
    var name = path[cut...]
    let ending = OutputTarget.ending(of: path).map { ".\($0)" } ?? ""
    name = name.dropLast(ending.count)
    self.ending = ending
    var parts: [Part] = []
    var text = ""
    while let character = name.popFirst() {
      guard character == "%" else {
        text.append(character)
        continue
      }
      let letter = name.popFirst()
      if letter == "%" {
        text.append("%")
        continue
      }
      guard let letter, Self.letters[letter] != nil else { throw .unknown(letter) }
      if !text.isEmpty { parts.append(.text(text)) }
      parts.append(.time(letter))
      text = ""
    }
    if !text.isEmpty { parts.append(.text(text)) }
    self.parts = parts
  }

  /// The names of the pieces of `path`, which has no place for the time: it is put behind the name.
  public init(piecesOf path: String) throws(PatternError) {
    let ending = OutputTarget.ending(of: path).map { ".\($0)" } ?? ""
    let stem = path.dropLast(ending.count).split(separator: "%", omittingEmptySubsequences: false)
    try self.init(pattern: stem.joined(separator: "%%") + "-%Y%m%dT%H%M%SZ" + ending)
  }

  /// Whether `path` contains a place for the time.
  public static func isPattern(_ path: String) -> Bool { path.contains("%") }

  /// The path of a file whose first picture came at `time`; `clash` numbers those that would have
  /// one name, from 0.
  public func path(at time: WallClockTime, clash: Int = 0) -> String {
    let digits = Self.digits(of: time)
    let name = parts.map { part in
      switch part {
      case .text(let text): text
      case .time(let letter): digits[letter] ?? ""
      }
    }
    return folder + name.joined() + (clash > 0 ? "-\(clash)" : "") + ending
  }

  /// Whether a file of this name, in the folder, is one of these.
  func matches(_ name: String) -> Bool {
    guard name.hasSuffix(ending) else { return false }
    var rest = name.dropLast(ending.count)
    for part in parts {
      switch part {
      case .text(let text):
        guard rest.hasPrefix(text) else { return false }
        rest = rest.dropFirst(text.count)
      case .time(let letter):
        let count = Self.letters[letter] ?? 0
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(\.isASCIIDigit) else { return false }
        rest = rest.dropFirst(count)
      }
    }
    guard !rest.isEmpty else { return true }
    return rest.first == "-" && rest.count > 1 && rest.count <= 5
      && rest.dropFirst().allSatisfy(\.isASCIIDigit)
  }

  private static func digits(of time: WallClockTime) -> [Character: String] {
    // 2026-11-21T09:05:42.016667Z
    let text = Array(time.description)
    func part(_ range: Range<Int>) -> String { String(text[range]) }
    guard text.count == 27 else { return [:] }
    return [
      "Y": part(0..<4), "m": part(5..<7), "d": part(8..<10), "H": part(11..<13),
      "M": part(14..<16), "S": part(17..<19), "f": part(20..<26),
    ]
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
