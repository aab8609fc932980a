/// How a piece of text looks on a screen.
enum Tone: Sendable, Hashable {
  case plain, faint, strong, good, warning, bad
  /// A bar across the screen, and what is chosen.
  case reversed

  /// What the terminal is told (ECMA-48, SGR).
  ///
  /// Without colours, what is wrong is bold.
  func code(isColoured: Bool) -> String {
    switch self {
    case .plain: ""
    case .faint: "2"
    case .strong: "1"
    case .good: isColoured ? "32" : ""
    case .warning: isColoured ? "33" : "1"
    case .bad: isColoured ? "31" : "1"
    case .reversed: "7"
    }
  }
}

/// A line of a screen: pieces of text, each with its tone.
struct ScreenLine: Sendable, Hashable {
  struct Piece: Sendable, Hashable {
    var text: String
    var tone: Tone
  }

  private(set) var pieces: [Piece] = []
  /// In columns.
  private(set) var width = 0

  init() {}

  init(_ text: String, _ tone: Tone = .plain) { add(text, tone) }

  /// The text without its tones.
  var text: String { pieces.map(\.text).joined() }

  /// Adds `text`, without what would control a terminal.
  mutating func add(_ text: String, _ tone: Tone = .plain) {
    let (safe, width) = text.shown
    self.width += width
    if let last = pieces.indices.last, pieces[last].tone == tone {
      pieces[last].text += safe
    } else if !safe.isEmpty {
      pieces.append(Piece(text: safe, tone: tone))
    }
  }

  /// Adds `text` in a field of `width` columns, cut or filled with spaces.
  mutating func add(_ text: String, _ tone: Tone = .plain, width: Int, isRight: Bool = false) {
    let cut = text.cut(to: width)
    let fill = String(repeating: " ", count: max(0, width - cut.shown.width))
    add(isRight ? fill + cut : cut + fill, tone)
  }

  /// Fills the line up to `width` columns.
  mutating func fill(to width: Int, _ tone: Tone = .plain) {
    if self.width < width { add(String(repeating: " ", count: width - self.width), tone) }
  }

  /// The line, cut to `width` columns.
  func cut(to width: Int) -> ScreenLine {
    guard self.width > width else { return self }
    var line = ScreenLine()
    for piece in pieces {
      line.add(piece.text.cut(to: width - line.width), piece.tone)
      if line.width >= width { break }
    }
    return line
  }
}

extension String {
  /// The text as a terminal may get it, and how many columns that takes.
  var shown: (text: String, width: Int) {
    // Most of it is plain.
    if utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return (self, utf8.count) }
    var text = ""
    var width = 0
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      // Format characters include those of bidirectional text, such as U+202E.
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
        .unassigned:
        text += "?"
        width += 1
      case .nonspacingMark, .enclosingMark: text.unicodeScalars.append(scalar)
      default:
        text.unicodeScalars.append(scalar)
        width += scalar.isWide ? 2 : 1
      }
    }
    return (text, width)
  }

  /// At most `width` columns of the text.
  func cut(to width: Int) -> String {
    let (text, full) = shown
    guard full > width else { return text }
    var cut = ""
    var used = 0
    for character in text {
      let own = String(character).shown.width
      guard used + own <= width else { break }
      cut.append(character)
      used += own
    }
    return cut
  }
}

extension Unicode.Scalar {
  /// Whether terminals give it two columns (UAX #11, the blocks that are wide as a whole).
  fileprivate var isWide: Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}
