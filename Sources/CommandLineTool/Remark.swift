/// One sentence of the command for its user.
struct Remark: ExpressibleByStringInterpolation {
  let words: String
  /// Whether it is a warning, which is marked as one.
  let isWarning: Bool

  init(_ words: String, isWarning: Bool = false) {
    self.words = words
    self.isWarning = isWarning
  }

  init(stringLiteral words: String) { self.init(words) }

  static func warning(_ words: String) -> Remark { Remark(words, isWarning: true) }

  var text: String { isWarning ? "warning: \(words)" : words }
}
