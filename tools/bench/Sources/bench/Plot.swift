/// Figures as bars in SVG, one below the other; the longest bar of each has the same length.
struct Plot {
  let title: String
  let caption: String
  let figures: [Figure]

  private static let width = 760
  private static let labelWidth = 150
  private static let barWidth = 470
  private static let barHeight = 18

  /// The picture as a file; a reader's colours are those of a light page.
  var svg: String {
    var body = ""
    var y = 34
    for figure in figures {
      let wish = figure.isLowerBetter ? "less is better" : "more is better"
      body += Self.text(10, y, "\(figure.measure), \(figure.unit) (\(wish))", weight: "bold")
      y += 10
      let longest = figure.values.map(\.value).max() ?? 1
      for value in figure.values {
        let length =
          longest > 0 ? max(1, Int(Double(Self.barWidth) * value.value / longest)) : 1
        let middle = y + Self.barHeight - 5
        body += Self.text(Self.labelWidth - 8, middle, value.contender.rawValue, anchor: "end")
        body +=
          "<rect x=\"\(Self.labelWidth)\" y=\"\(y)\" width=\"\(length)\" "
          + "height=\"\(Self.barHeight - 4)\" fill=\"\(value.contender.colour)\"/>\n"
        body += Self.text(Self.labelWidth + length + 6, middle, figure.shown(value.value))
        y += Self.barHeight
      }
      y += 26
    }
    body += Self.text(10, y, caption, colour: "#666", size: 10)
    let height = y + 14
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" \
      viewBox="0 0 \(Self.width) \(height)" font-family="sans-serif" font-size="12">
      <title>\(Self.escaped(title))</title>
      <rect width="100%" height="100%" fill="#fff"/>
      \(body)</svg>

      """
  }

  private static func text(
    _ x: Int, _ y: Int, _ words: String, anchor: String = "start", weight: String = "normal",
    colour: String = "#222", size: Int = 12
  ) -> String {
    "<text x=\"\(x)\" y=\"\(y)\" font-size=\"\(size)\" text-anchor=\"\(anchor)\" font-weight=\"\(weight)\" "
      + "fill=\"\(colour)\">\(escaped(words))</text>\n"
  }

  private static func escaped(_ words: String) -> String {
    words.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
