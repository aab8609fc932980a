/// Draws one stream: what it is doing, graphs of its last minutes, and what happened.
struct StreamView {
  let model: MonitorModel
  let strokes: Sparkline.Strokes
  /// What the keys do.
  let keys: String

  private static let labelWidth = 10
  private static let valueWidth = 13
  /// Graphs are higher where there is so much room.
  private static let tallRows = 34
  /// So much of it is never given to anything else, if there is room at all.
  private static let leastEvents = 3

  /// Exactly `rows` lines of at most `columns`.
  func lines(columns: Int, rows: Int) -> [ScreenLine] {
    guard columns > 0, rows > 0 else { return [] }
    var lines = [header(columns)]
    let footer = ScreenLine(" \(keys)", .faint)
    if rows > 6, !model.contents.isEmpty { lines.append(ScreenLine(" \(model.contents)", .strong)) }
    // What does not fit is left out from the bottom up, but some events stay.
    let room = max(0, rows - lines.count - 1)
    let height = rows >= Self.tallRows ? 2 : 1
    var middle = model.graphs.flatMap { graph($0, columns, height: height) }
    middle += model.facts.flatMap { fact($0, columns) }
    let events = model.events.flatMap { self.event($0, columns) }
    let forEvents = min(events.count, max(Self.leastEvents, room - middle.count - 1))
    let kept = max(0, room - forEvents - (forEvents > 0 && room > 8 ? 1 : 0))
    lines += middle.prefix(kept)
    if room - min(middle.count, kept) > forEvents, forEvents > 0 { lines.append(ScreenLine()) }
    lines += events.suffix(max(0, min(forEvents, rows - 1 - lines.count)))
    while lines.count < rows - 1 { lines.append(ScreenLine()) }
    if rows > 1 { lines.append(footer) }
    return lines.prefix(rows).map { $0.cut(to: columns) }
  }

  private func header(_ columns: Int) -> ScreenLine {
    let right = "\(model.stateWords)  \(Self.clock(model.elapsed)) "
    var line = ScreenLine()
    line.add(" \(model.name)", .reversed, width: max(0, columns - right.shown.width - 1))
    line.add(" ", .reversed)
    line.add(right, .reversed)
    return line
  }

  private func graph(_ graph: MonitorModel.Graph, _ columns: Int, height: Int) -> [ScreenLine] {
    let start = 1 + Self.labelWidth + Self.valueWidth + 1
    let drawing = Sparkline(
      graph.samples, width: max(0, columns - start - 1), height: height, top: graph.top, strokes)
    return (0..<height).map { row in
      var line = ScreenLine(" ")
      let isLast = row == height - 1
      line.add(isLast ? graph.label : "", .faint, width: Self.labelWidth)
      line.add(isLast ? graph.value : "", graph.tone, width: Self.valueWidth, isRight: true)
      line.add(" ")
      line.add(drawing[row], graph.tone == .plain ? .good : graph.tone)
      return line
    }
  }

  /// A fact, on as many lines as its words need, at most three.
  private func fact(_ fact: MonitorModel.Fact, _ columns: Int) -> [ScreenLine] {
    Self.wrapped(fact.words, to: columns - Self.labelWidth - 2).enumerated().map { place, words in
      var line = ScreenLine(" ")
      line.add(place == 0 ? fact.label : "", .faint, width: Self.labelWidth)
      line.add(words, fact.tone)
      return line
    }
  }

  /// What happened, in the same way.
  private func event(_ event: MonitorModel.Event, _ columns: Int) -> [ScreenLine] {
    let time = " \(event.time)  "
    return Self.wrapped(event.words, to: columns - time.count - 1).enumerated().map {
      place, words in
      var line = ScreenLine()
      line.add(place == 0 ? time : "", .faint, width: time.count)
      line.add(words, event.tone)
      return line
    }
  }

  /// The first three lines of `text`, which break between words.
  private static func wrapped(_ text: String, to width: Int) -> [String] {
    let width = max(10, width)
    var rows: [String] = []
    var row = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      let longer = row.isEmpty ? String(word) : "\(row) \(word)"
      if longer.count > width, !row.isEmpty {
        rows.append(row)
        row = String(word)
      } else {
        row = longer
      }
    }
    rows.append(row)
    return Array(rows.prefix(3))
  }

  /// `1:02:03`.
  static func clock(_ seconds: Double) -> String {
    let whole = Int(max(0, seconds))
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
    return "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))"
  }
}
