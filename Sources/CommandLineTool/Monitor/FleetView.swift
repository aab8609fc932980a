import Outputs
import Telemetry

/// Draws a table of all cameras, those in trouble first.
struct FleetView {
  let title: String
  /// Of the day.
  let time: String
  let models: [MonitorModel]
  /// The name of the camera that is chosen; the first one if there is none of that name.
  let selection: String?
  /// A question at the bottom, instead of what the keys do.
  let question: String?
  /// What was last said of all of them.
  let news: MonitorModel.Event?

  private struct Column: Sendable {
    let title: String
    let width: Int
    /// Left out where the screen is narrower.
    let from: Int
    var isRight = true
    let text: @Sendable (MonitorModel) -> String
  }

  private static let keys = "↑↓ choose   enter one in full   q end the run"

  private static let columns: [Column] = [
    Column(title: "STATE", width: 20, from: 0, isRight: false) { $0.stateWords },
    Column(title: "RATE", width: 12, from: 46) { MonitoredStream.rate($0.bitsPerSecond) },
    Column(title: "PICTURES", width: 9, from: 60) {
      "\($0.picturesPerSecond.formatted(digits: 1))/s"
    },
    Column(title: "LOSS", width: 9, from: 70) { "\($0.lossPercentage.formatted(digits: 2)) %" },
    Column(title: "JITTER", width: 9, from: 90) { "\($0.jitter.formatted(digits: 1)) ms" },
    Column(title: "LOST", width: 9, from: 100) { "\($0.lost)" },
  ]

  /// The cameras in the order of the table.
  static func sorted(_ models: [MonitorModel]) -> [MonitorModel] {
    models.sorted { ($0.rank, $0.name) < ($1.rank, $1.name) }
  }

  /// Exactly `rows` lines of at most `columns`.
  func lines(columns: Int, rows: Int) -> [ScreenLine] {
    guard columns > 0, rows > 0 else { return [] }
    let sorted = Self.sorted(models)
    let chosen = sorted.firstIndex { $0.name == selection } ?? 0
    var lines = [header(columns, sorted)]
    let nameWidth = min(
      max(sorted.map { $0.name.count }.max() ?? 0, 6),
      max(12, columns / 4))
    let shown = Self.columns(in: columns, behind: nameWidth)
    if rows > 3 { lines.append(titles(shown, nameWidth)) }
    let hasNews = news != nil && rows > 8
    let room = max(0, rows - lines.count - (hasNews ? 2 : 1))
    let first = min(max(0, chosen - room + 1), max(0, sorted.count - room))
    for (place, model) in sorted.enumerated().dropFirst(first).prefix(room) {
      lines.append(row(model, shown, nameWidth, columns, isChosen: place == chosen))
    }
    while lines.count < rows - (hasNews ? 2 : 1) { lines.append(ScreenLine()) }
    if hasNews, let news {
      var line = ScreenLine(" \(news.time)  ", .faint)
      line.add(news.words, news.tone)
      lines.append(line)
    }
    if rows > 1 {
      lines.append(
        question.map { ScreenLine(" \($0)", .strong) } ?? ScreenLine(" \(Self.keys)", .faint))
    }
    return lines.prefix(rows).map { $0.cut(to: columns) }
  }

  /// Those that are seen in full, behind a name of so many letters.
  private static func columns(in width: Int, behind nameWidth: Int) -> [Column] {
    var rest = width - 1 - nameWidth
    return columns.prefix { column in
      rest -= 1 + column.width
      return column.from == 0 || column.from <= width && rest >= 0
    }
  }

  private func header(_ columns: Int, _ models: [MonitorModel]) -> ScreenLine {
    let playing = models.count { $0.state == .playing }
    let harmed = models.count { $0.rank == 4 }
    var right = "\(playing) of \(models.count) playing"
    if harmed > 0 { right += ", \(harmed) with losses" }
    right += "  \(time) "
    var line = ScreenLine()
    line.add(" \(title)", .reversed, width: max(0, columns - right.shown.width - 1))
    line.add(" ", .reversed)
    line.add(right, .reversed)
    return line
  }

  private func titles(_ shown: [Column], _ nameWidth: Int) -> ScreenLine {
    var line = ScreenLine(" ")
    line.add("CAMERA", .faint, width: nameWidth)
    for column in shown {
      line.add(" ")
      line.add(column.title, .faint, width: column.width, isRight: column.isRight)
    }
    line.add("  NEWS", .faint)
    return line
  }

  private func row(
    _ model: MonitorModel, _ shown: [Column], _ nameWidth: Int, _ columns: Int, isChosen: Bool
  ) -> ScreenLine {
    func tone(_ tone: Tone) -> Tone { isChosen ? .reversed : tone }
    var line = ScreenLine(isChosen ? ">" : " ", tone(.plain))
    line.add(model.name, tone(.strong), width: nameWidth)
    for (place, column) in shown.enumerated() {
      line.add(" ", tone(.plain))
      line.add(
        column.text(model), tone(place == 0 ? model.stateTone : .plain), width: column.width,
        isRight: column.isRight)
    }
    line.add("  ", tone(.plain))
    if !model.harm.isEmpty {
      line.add(model.harm, tone(.warning))
    } else if model.rank < 5, let event = model.events.last {
      line.add(event.words, tone(event.tone))
    }
    line.fill(to: columns, tone(.plain))
    return line
  }
}
