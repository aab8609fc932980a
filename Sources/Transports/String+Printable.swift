extension String {
  /// The text made safe for one line on a terminal: at most ``longestPrintable`` characters, and
  /// none that control the terminal or change the writing direction.
  package var printable: String {
    let shown = unicodeScalars.prefix(Self.longestPrintable)
    let text = String(shown).withoutControls
    return shown.endIndex == unicodeScalars.endIndex ? text : text + "…"
  }

  /// The same of any length: for lines in which words of others are among ours.
  package var withoutControls: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      // Format characters include those of bidirectional text, such as U+202E.
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
        .unassigned:
        text.unicodeScalars.append("\u{FFFD}")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The most Unicode scalars of a server's text in an error; more would not help.
  static var longestPrintable: Int { 200 }
}
