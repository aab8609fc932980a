extension String {
  /// The text made safe for one line on a terminal: at most ``longestPrintable`` characters, and
  /// none that control the terminal or change the writing direction.
  package var printable: String {
    var text = ""
    var count = 0
    for scalar in unicodeScalars {
      guard count < Self.longestPrintable else { return text + "…" }
      count += 1
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
