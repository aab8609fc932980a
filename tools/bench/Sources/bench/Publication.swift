import Foundation

/// What a whole run leaves: text, JSON, plots, and the table of the README.
struct Publication {
  let results: Results
  /// The columns of the table, in which the bare program is the last.
  private static let contenders: [Contender] = [
    .ours, .before, .ffmpeg, .newerFFmpeg, .gstreamer, .openCV, .bare,
  ]
  /// Who is missing, and why.
  private static let absence =
    "VLC is left out: Debian's has no client of RTSP, and knows no H.264 in RTP."

  /// Writes `bench.txt`, `bench.json`, `bench.md` and a plot for each measurement into `folder`.
  func write(to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    func write(_ text: String, _ name: String) throws {
      try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try write(String(decoding: encoder.encode(results), as: UTF8.self) + "\n", "bench.json")
    try write(text, "bench.txt")
    try write(markdown, "bench.md")
    for (bench, figures) in groups where figures.contains(where: { $0.values.count > 1 }) {
      let plot = Plot(
        title: "bench \(bench)", caption: "\(results.environment.date), \(versions)",
        figures: figures.filter { $0.values.count > 1 })
      try write(plot.svg, "bench-\(bench).svg")
    }
  }

  /// Renews what is between the markers in the file at `path`.
  func renew(_ path: String) throws {
    let begin = "<!-- bench: begin -->\n"
    let end = "<!-- bench: end -->"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    guard let start = text.range(of: begin),
      let stop = text.range(of: end, range: start.upperBound..<text.endIndex)
    else { throw BenchError(description: "\(path) does not have \(begin)") }
    try text.replacingCharacters(in: start.upperBound..<stop.lowerBound, with: markdown)
      .write(toFile: path, atomically: true, encoding: .utf8)
  }

  private var groups: [(bench: String, figures: [Figure])] {
    var order: [String] = []
    for figure in results.figures where !order.contains(figure.bench) { order.append(figure.bench) }
    return order.map { bench in (bench, results.figures.filter { $0.bench == bench }) }
  }

  private var versions: String {
    results.environment.versions.filter { $0.key != "commit" }.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  /// The ratios, and then every table.
  private var text: String {
    let environment = results.environment
    var lines = [
      "rtp-recv beside others", "", "date      \(environment.date)",
      "machine   \(environment.machine)", "system    \(environment.system)",
      "versions  \(versions)", "commit    \(environment.versions["commit"] ?? "unknown")",
      "command   \(results.command), \(number(results.seconds / 60, 0)) minutes", "",
    ]
    let width = results.figures.map(\.measure.count).max() ?? 0
    for figure in results.figures {
      let values = figure.values.map { "\($0.contender.rawValue) \(figure.shown($0.value))" }
      lines.append(
        figure.measure.padding(toLength: width + 2, withPad: " ", startingAt: 0)
          + figure.comparison.padding(toLength: 13, withPad: " ", startingAt: 0)
          + values.joined(separator: ", ") + " \(figure.unit)")
    }
    lines += [
      "",
      "× is how many times better rtp-recv is than the best of the others; 'bare × 1.5' takes half as",
      "much again as a bare program, which only reads and writes.", Self.absence, "",
    ]
    lines += notBest.isEmpty ? [] : ["Not the best:"] + notBest.map { "  \($0)" } + [""]
    lines += results.failures.isEmpty ? [] : ["Not measured:"] + results.failures + [""]
    for table in results.tables {
      lines += ["\(table.title) (bench \(table.bench))", ""]
      let widths = table.columns.indices.map { column in
        ([table.columns] + table.rows).map { $0.indices.contains(column) ? $0[column].count : 0 }
          .max() ?? 0
      }
      for cells in [table.columns] + table.rows {
        let padded = zip(cells, widths).map {
          $0.padding(toLength: $1, withPad: " ", startingAt: 0)
        }
        lines.append("  " + padded.joined(separator: "  "))
      }
      lines.append("")
    }
    return lines.joined(separator: "\n")
  }

  private var notBest: [String] {
    results.figures.filter { $0.isBest == false }.map { figure in
      let rival = figure.bestRival.map { "\($0.contender.rawValue) \(figure.shown($0.value))" }
      return "\(figure.measure): \(rival ?? ""), rtp-recv \(figure.shown(figure.ours ?? .nan)) "
        + figure.unit
    }
  }

  private var markdown: String {
    let present = Self.contenders.filter { contender in
      results.figures.contains { $0.value(of: contender) != nil && $0.values.count > 1 }
    }
    var lines = [
      "| | unit | " + present.map(\.rawValue).joined(separator: " | ") + " | beside the best |",
      "|---|---|" + present.map { _ in "---:|" }.joined() + "---:|",
    ]
    for figure in results.figures where figure.values.count > 1 {
      let best = figure.isBest
      let cells = present.map { contender -> String in
        guard let value = figure.value(of: contender) else { return "" }
        let isBest =
          contender == .ours
          ? best == true : best == false && figure.bestRival?.contender == contender
        return isBest ? "**\(figure.shown(value))**" : figure.shown(value)
      }
      lines.append(
        "| \(figure.measure) | \(figure.unit) | \(cells.joined(separator: " | ")) | "
          + "\(figure.comparison) |")
    }
    let environment = results.environment
    lines += [
      "",
      "\(environment.date), \(versions); \(environment.machine); \(environment.system): "
        + "`\(results.command)`, \(number(results.seconds / 60, 0)) minutes. "
        + "The last column says how many times better rtp-recv is than the best of the others; "
        + "a bare program, which only reads and writes, is no rival: 'bare × 1.5' takes half as much "
        + "again as it. \(Self.absence)",
      "",
    ]
    if !notBest.isEmpty {
      lines.append("Not the best: " + notBest.joined(separator: "; ") + ".")
    } else if results.figures.contains(where: { $0.isBest == true }) {
      lines.append("In none of these is another one better.")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
