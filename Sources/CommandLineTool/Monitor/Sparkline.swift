/// A graph of a few lines' height.
struct Sparkline {
  /// Eighths of a line, or what resembles them.
  enum Strokes {
    case blocks, letters

    fileprivate var levels: [Character] {
      switch self {
      case .blocks: Array(" ▁▂▃▄▅▆▇█")
      case .letters: Array(" .:-=+*#@")
      }
    }
  }

  private let rows: [String]

  /// The latest of `values`, the last one on the right; `top` is the least value at the top.
  init(_ values: [Double], width: Int, height: Int, top: Double = 0, _ strokes: Strokes) {
    let shown = Array(values.suffix(width))
    let levels = strokes.levels
    let full = levels.count - 1
    let greatest = max(shown.max() ?? 0, top)
    let steps = shown.map { value -> Int in
      guard greatest > 0, value > 0, value.isFinite else { return 0 }
      // What is not nothing is seen.
      return max(1, Int((value / greatest * Double(full * height)).rounded()))
    }
    let blank = String(repeating: " ", count: max(0, width - shown.count))
    rows = (0..<max(0, height)).map { row in
      let below = (height - 1 - row) * full
      return blank + String(steps.map { levels[min(max($0 - below, 0), full)] })
    }
  }

  subscript(row: Int) -> String { rows.indices.contains(row) ? rows[row] : "" }
}
