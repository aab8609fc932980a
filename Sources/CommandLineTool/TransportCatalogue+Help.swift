import Transports

extension TransportCatalogue {
  /// The forms of SOURCE for the help, with the explanations in a column.
  var help: String {
    let width = usage.map(\.text.count).max() ?? 0
    var lines: [String] = []
    for form in usage {
      var start = form.text
      for line in form.explanation.split(separator: "\n") {
        let gap = String(repeating: " ", count: width + 2 - start.count)
        lines.append("  \(start)\(gap)\(line)")
        start = ""
      }
    }
    return lines.joined(separator: "\n")
  }
}
