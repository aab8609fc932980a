/// One sentence of the command for its user.
struct Remark: ExpressibleByStringInterpolation {
  /// How much it matters, as syslog counts (RFC 5424 §6.2.1).
  enum Level: Int {
    case error = 3
    case warning = 4
    case notice = 5
  }

  let words: String
  let level: Level

  init(_ words: String, level: Level = .notice) {
    self.words = words
    self.level = level
  }

  init(stringLiteral words: String) { self.init(words) }

  static func warning(_ words: String) -> Remark { Remark(words, level: .warning) }

  static func error(_ words: String) -> Remark { Remark(words, level: .error) }

  /// Whether it is a warning, which is marked as one.
  var isWarning: Bool { level == .warning }

  var text: String { isWarning ? "warning: \(words)" : words }
}
