extension String {
  /// The text as it may stand in one line on a terminal: at most ``longestPrintable`` characters,
  /// and nothing in it that controls the terminal or turns the direction of writing.
  var printable: String {
    var text = ""
    var count = 0
    for scalar in unicodeScalars {
      guard count < Self.longestPrintable else { return text + "…" }
      count += 1
      switch scalar.properties.generalCategory {
      // Format characters hold those of bidirectional writing, such as U+202E.
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
        .unassigned:
        text.unicodeScalars.append("\u{FFFD}")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// Unicode scalars of a server's words in an error; more is no help to anybody.
  static var longestPrintable: Int { 200 }
}
