import Glibc
public import RTPWire

/// The names of an output's files: a path with places for the time or for a number.
///
/// Times are in UTC, with the letters of strftime(3) and `%f` for the microsecond. `%05d` is the
/// file's number. So is `%d`, unless there is another place for the time: beside one, it is the
/// day. `%%` is a percent sign. Folders may have places for the time, too, and are made when a file
/// needs them; those that have none, and those that are there under that name, are taken as they
/// are, percent signs included.
public struct NamePattern: Sendable, Hashable {
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
          + (Array(TimedName.letters.keys) + TimedName.abbreviations.keys).sorted()
          .map { "%\($0)" }.joined(separator: " ")
          + (allowsNumbers ? ", %05d for a number" : "") + ", and %% for a percent sign"
      case .number:
        "a recording's files are named by their time, such as %Y%m%dT%H%M%SZ, not by a number"
      }
    }
  }

  /// The most files of one name, which differ in the number behind it.
  static let mostOfOneName = 9999
  /// What stands before the number of one of them: behind the dot of an ending in ASCII, and behind
  /// the letters of endings where languages sort.
  private static let clashMark = "x"
  private static let clashDigits = 4

  /// The folder that must be there: that of all files, or of the first folder that has a time.
  ///
  /// It has the slash at its end, and is empty for the working directory.
  public let folder: String
  /// The folders in it, from the first one that has a time to the one that has the file.
  let folders: [TimedName]
  private var name: TimedName
  /// With its dot; empty for none.
  private let ending: String

  /// The names that `path` stands for.
  ///
  /// - Parameters:
  ///   - path: with places for the time, for numbers, or for neither.
  ///   - allowsNumbers: whether the files have numbers.
  /// - Throws: ``PatternError``.
  public init(_ path: String, allowsNumbers: Bool) throws(PatternError) {
    let (place, text, ending) = Self.divided(path)
    do throws(TimedName.UnknownLetter) {
      name = try TimedName(text)
    } catch { throw .unknown(error.text, allowsNumbers: allowsNumbers) }
    (folder, folders) = Self.folders(of: place)
    self.ending = ending
    if folders.isEmpty, !name.saysMoreThanDays { name.numberDays() }
    if name.hasNumber, !allowsNumbers { throw .number }
  }

  /// The names of the pieces of `path`, whose file name has no place for the time: it is put behind
  /// that.
  public init(piecesOf path: String) {
    let (place, text, ending) = Self.divided(path)
    name = TimedName(pieceOf: text)
    (folder, folders) = Self.folders(of: place)
    self.ending = ending
  }

  /// Whether the file name in `path` has anything to replace.
  public static func isPattern(_ path: String) -> Bool { divided(path).name.contains("%") }

  /// Whether the file lies in a folder whose name has the time.
  public static func isInTimedFolder(_ path: String) -> Bool {
    !folders(of: divided(path).folder).timed.isEmpty
  }

  /// The names with numbers before their endings, where there are neither numbers nor times.
  var numbered: NamePattern {
    guard isSingle else { return self }
    var copy = self
    copy.name.appendNumber()
    return copy
  }

  /// Whether all files have the same name.
  public var isSingle: Bool { !hasTime && !name.hasNumber }

  /// Whether the names say a time, so that no file replaces another.
  var hasTime: Bool { name.hasTime || !folders.isEmpty }

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

  /// The part of `folder` before the first name with the time, and the names from there on.
  ///
  /// A folder that there is has its name, whatever stands in that.
  private static func folders(of folder: String) -> (fixed: String, timed: [TimedName]) {
    let texts = folder.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let names = texts.enumerated().map { depth, text in
      let path = texts.prefix(depth + 1).joined(separator: "/")
      let isThere = unsafe access(path, F_OK) == 0
      let name = isThere ? nil : try? TimedName(text)
      return name.flatMap { $0.hasTime && !$0.hasNumber ? $0 : nil }
    }
    guard let first = names.firstIndex(where: { $0 != nil }) else { return (folder, []) }
    let timed = zip(names, texts).dropFirst(first).compactMap { name, text in
      text.isEmpty ? nil : name ?? TimedName(literal: text)
    }
    return (texts.prefix(first).map { $0 + "/" }.joined(), timed)
  }

  /// The path of a file whose first picture came at `time`; `clash` numbers those that would have
  /// one name, from 0.
  public func path(at time: WallClockTime, number: Int = 0, clash: Int = 0) -> String {
    let fields = Self.fields(of: time)
    return folder + folders.map { $0.text(at: fields) + "/" }.joined()
      + name.text(at: fields, number: number)
      + (clash > 0 ? Self.clashMark + TimedName.padded(clash, to: Self.clashDigits) : "") + ending
  }

  /// The number in `name`, which is one of these names; `nil` if it has none, or too large a one.
  func number(in name: String) -> Int? { self.name.number(in: name) }

  /// Whether a file of this name, in its folder, is one of these.
  func matches(_ name: String) -> Bool {
    guard name.utf8.reversed().starts(with: ending.utf8.reversed()),
      let rest = self.name.rest(of: name.utf8.dropLast(ending.utf8.count))
    else { return false }
    guard !rest.isEmpty else { return true }
    let mark = Self.clashMark.utf8
    let digits = rest.dropFirst(mark.count)
    return rest.starts(with: mark) && digits.count == Self.clashDigits
      && digits.allSatisfy(TimedName.isDigit)
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
