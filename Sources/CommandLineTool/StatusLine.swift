import Glibc

/// One figure of the live line.
struct LiveField {
  enum Tone {
    case plain, warning, bad
  }

  let text: String
  /// If there is not enough room, the least important fields are left out.
  let importance: Int
  var tone = Tone.plain
}

/// The line on a terminal that is updated while a stream runs.
struct StatusLine {
  /// Erases from the cursor to the end of the line (ECMA-48, EL).
  private static let erase = "\u{1B}[K"

  let isEnabled: Bool
  private let hasEscapes: Bool
  private let isColoured: Bool
  private var width = 0
  /// What the terminal shows.
  private var shown = ""

  /// A line on standard error, if that is a terminal and `isWanted`.
  ///
  /// Colours are used if the terminal has them and `NO_COLOR` is not set.
  init(isWanted: Bool) {
    isEnabled = isWanted && isatty(STDERR_FILENO) == 1
    hasEscapes = Environment.value(of: "TERM").map { !["", "dumb"].contains($0) } ?? false
    isColoured = hasEscapes && Environment.value(of: "NO_COLOR").map(\.isEmpty) ?? true
  }

  /// Shows those of `fields` that fit.
  mutating func show(_ fields: [LiveField]) {
    guard isEnabled else { return }
    let fitting = Self.fitting(fields, in: Self.columns - 1)
    let text = fitting.map { isColoured ? Self.coloured($0) : $0.text }.joined(separator: "  ")
    guard text != shown else { return }
    shown = text
    let former = width
    width = Self.width(of: fitting)
    let rest =
      hasEscapes ? Self.erase : String(repeating: " ", count: max(0, former - width))
    StandardError.write("\r\(text)\(rest)")
  }

  /// Erases the line, so that something else can be printed.
  mutating func clear() {
    guard isEnabled, width > 0 else { return }
    let blank = hasEscapes ? Self.erase : String(repeating: " ", count: width) + "\r"
    StandardError.write("\r" + blank)
    width = 0
    shown = ""
  }

  /// Prints a message above the line.
  mutating func say(_ remark: Remark) {
    clear()
    StandardError.say(remark)
  }

  /// The fields in their order, without the least important ones if there is not enough room.
  private static func fitting(_ fields: [LiveField], in columns: Int) -> [LiveField] {
    var fields = fields
    while fields.count > 1, width(of: fields) > columns,
      let least = fields.indices.min(by: { fields[$0].importance < fields[$1].importance })
    {
      fields.remove(at: least)
    }
    guard let only = fields.first, fields.count == 1, only.text.count > columns else {
      return fields
    }
    return [
      LiveField(
        text: String(only.text.prefix(columns)), importance: only.importance, tone: only.tone)
    ]
  }

  private static func width(of fields: [LiveField]) -> Int {
    fields.reduce(0) { $0 + $1.text.count } + 2 * max(0, fields.count - 1)
  }

  private static func coloured(_ field: LiveField) -> String {
    switch field.tone {
    case .plain: field.text
    case .warning: "\u{1B}[33m\(field.text)\u{1B}[0m"
    case .bad: "\u{1B}[31m\(field.text)\u{1B}[0m"
    }
  }

  private static var columns: Int {
    var size = winsize()
    let answer = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size)
    return answer == 0 && size.ws_col > 1 ? Int(size.ws_col) : 80
  }
}
