/// A plan as people write it.
///
/// ```
/// # from-to in seconds since the first packet, or with ms, s, m, h; then what happens
/// 0       delay 40ms jitter 10ms, loss 0.5%
/// 10-15   burst-loss 20% 5
/// 20-22   silence
/// 30      restart
/// repeat  60
/// ```
public struct PlanText {
  /// The forms of what a plan can say, for the help.
  public static var help: String {
    PlanClause.forms.map { "    " + $0 }.joined(separator: "\n")
  }

  /// What is wrong with a plan, and where.
  public struct Problem: Error, Hashable, CustomStringConvertible {
    public let line: Int
    public let reason: String

    public var description: String { "line \(line): \(reason)" }
  }

  /// More than a person writes, so that no other file is taken for a plan.
  public static let longest = 1 << 20

  /// Reads a plan.
  ///
  /// - Parameters:
  ///   - text: its lines.
  ///   - base: what holds all the time.
  /// - Returns: the plan.
  /// - Throws: ``Problem`` at the first line that cannot be understood.
  public static func parse(_ text: String, over base: Impairments = Impairments()) throws(Problem)
    -> Plan
  {
    var plan = Plan(base)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let content = line.prefix { $0 != "#" }
      let words = content.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      guard let first = words.first else { continue }
      do throws(WordProblem) {
        if first == "repeat" {
          guard words.count == 2, let period = time(words[1], unit: 1_000_000_000), period > 0
          else {
            throw WordProblem("repeat takes the time after which the plan begins again: repeat 60")
          }
          plan.period = period
          continue
        }
        let (from, to) = try span(first)
        let clauses = content.drop { $0 == " " || $0 == "\t" }.dropFirst(first.count)
        for clause in clauses.split(separator: ",", omittingEmptySubsequences: false) {
          for clause in try PlanClause.parse(clause) {
            plan.entries.append(Plan.Entry(clause, from: from, to: to))
          }
        }
      } catch { throw Problem(line: index + 1, reason: error.reason) }
    }
    return plan
  }

  /// The plan of a preset, all the time.
  public static func plan(_ preset: Preset, over base: Impairments = Impairments()) -> Plan {
    (try? parse("0 " + preset.clauses, over: base)) ?? Plan(base)
  }

  /// `10`, `10-15` or `500ms-2s`.
  private static func span(_ word: Substring) throws(WordProblem) -> (from: Int64, to: Int64) {
    let parts = word.split(separator: "-", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let from = time(parts[0], unit: 1_000_000_000) else {
      throw WordProblem("a line begins with a time, such as 10, or 10-15; '\(word)' is none")
    }
    guard parts.count == 2, !parts[1].isEmpty else { return (from, .max) }
    guard let to = time(parts[1], unit: 1_000_000_000), to > from else {
      throw WordProblem("'\(word)' has to end after it begins")
    }
    return (from, to)
  }

  /// Nanoseconds; without a unit the number is of `unit`, and without that it needs one.
  package static func time(_ word: Substring, unit: Double? = nil) -> Int64? {
    let units: [(String, Double)] = [
      ("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
    ]
    for (suffix, factor) in units where word.hasSuffix(suffix) {
      return nanoseconds(word.dropLast(suffix.count), factor)
    }
    return unit.flatMap { nanoseconds(word, $0) }
  }

  private static func nanoseconds(_ word: Substring, _ factor: Double) -> Int64? {
    // Some days, so that no sum of times overflows.
    guard let number = Double(word), number >= 0, number * factor <= 1e15 else { return nil }
    return Int64((number * factor).rounded())
  }
}

/// What is wrong with a line.
struct WordProblem: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
