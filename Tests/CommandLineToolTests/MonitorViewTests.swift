import Telemetry
import Testing

@testable import CommandLineTool

/// What the monitor draws, as text.
struct MonitorViewTests {
  private static func stream(
    _ name: String = "rtsp://camera/stream", _ state: CameraState = .playing
  ) -> MonitorModel {
    var model = MonitorModel()
    (model.name, model.state, model.stateWords) = (name, state, state.rawValue)
    model.elapsed = 3723
    model.contents = "H264, 1920x1080 yuv420p at 25 fps, pcma 8000 Hz, over tcp"
    model.graphs = [
      .init(label: "rate", value: "4.20 Mbit/s", samples: [0, 1, 2, 3, 4]),
      .init(label: "loss", value: "0.50 %", samples: [0, 0, 0.5], top: 1, tone: .bad),
      .init(label: "jitter", value: "1.5 ms", samples: [1, 1.5], top: 5),
    ]
    model.facts = [
      .init(label: "packets", words: "12345 received, 6 lost"),
      .init(label: "NAL units", words: "aud 100  pps 4  slice 96  slice_idr 4  sps 4"),
    ]
    model.events = [
      .init(time: "12:00:00", words: "listening on 0.0.0.0:5004", tone: .plain),
      .init(
        time: "12:00:07", words: "warning: the source changed\u{1B}[31m\u{202E}its SSRC",
        tone: .warning),
    ]
    (model.bitsPerSecond, model.picturesPerSecond) = (4.2e6, 25)
    return model
  }

  private func text(
    _ model: MonitorModel, _ columns: Int, _ rows: Int,
    _ strokes: Sparkline.Strokes = .blocks
  ) -> [String] {
    StreamView(model: model, strokes: strokes, keys: "q end the run")
      .lines(columns: columns, rows: rows).map { $0.text.trimmingEnd }
  }

  @Test("a stream on a small terminal")
  func stream() {
    #expect(
      text(Self.stream(), 64, 14) == [
        " rtsp://camera/stream                          playing  1:02:03",
        " H264, 1920x1080 yuv420p at 25 fps, pcma 8000 Hz, over tcp",
        " rate        4.20 Mbit/s                                   ▂▄▆█",
        " loss             0.50 %                                      ▄",
        " jitter           1.5 ms                                     ▂▂",
        " packets   12345 received, 6 lost",
        " NAL units aud 100  pps 4  slice 96  slice_idr 4  sps 4",
        "",
        " 12:00:00  listening on 0.0.0.0:5004",
        " 12:00:07  warning: the source changed?[31m?its SSRC",
        "", "", "",
        " q end the run",
      ])
  }

  @Test("a long message goes on in the next line")
  func longMessage() {
    var model = Self.stream()
    model.events = [
      .init(
        time: "12:00:09", words: "error: rtsp://camera/stream: the server wants a user name",
        tone: .bad)
    ]
    #expect(
      text(model, 40, 14).suffix(6) == [
        "",
        " 12:00:09  error: rtsp://camera/stream:",
        "           the server wants a user name",
        "", "",
        " q end the run",
      ])
  }

  @Test("what matters most stays where there is no room", arguments: 1...40, [1, 20, 80, 200])
  func sizes(rows: Int, columns: Int) throws {
    for model in [Self.stream(), MonitorModel()] {
      let lines = StreamView(model: model, strokes: .letters, keys: "q")
        .lines(columns: columns, rows: rows)
      #expect(lines.count == rows)
      #expect(lines.allSatisfy { $0.width <= columns })
      if rows >= 8, columns >= 80, !model.events.isEmpty {
        #expect(lines.contains { $0.text.contains("SSRC") })
        #expect(lines.contains { $0.text.contains("4.20 Mbit/s") })
      }
    }
    let table = FleetView(
      title: "fleet", time: "12:00:00",
      models: (0..<30).map { Self.stream("camera-\($0)") }, selection: "camera-29",
      question: nil, news: nil)
    let lines = table.lines(columns: columns, rows: rows)
    #expect(lines.count == rows)
    #expect(lines.allSatisfy { $0.width <= columns })
    // What is chosen is seen.
    if rows >= 4, columns >= 20 { #expect(lines.contains { $0.text.hasPrefix(">camera-29") }) }
  }

  @Test("a fleet has its trouble on top")
  func fleet() {
    var harmed = Self.stream("yard")
    harmed.harm = "3 lost"
    var down = Self.stream("door", .reconnecting)
    down.stateWords = "reconnecting in 4 s"
    (down.bitsPerSecond, down.picturesPerSecond) = (0, 0)
    down.events.append(.init(time: "12:00:09", words: "nobody answers", tone: .bad))
    let view = FleetView(
      title: "cameras.yaml", time: "12:00:10", models: [Self.stream("front"), harmed, down],
      selection: "yard", question: nil, news: nil)
    #expect(
      view.lines(columns: 80, rows: 7).map(\.text.trimmingEnd) == [
        " cameras.yaml                           2 of 3 playing, 1 with losses  12:00:10",
        " CAMERA STATE                        RATE  PICTURES      LOSS  NEWS",
        " door   reconnecting in 4 s      0 kbit/s     0.0/s    0.00 %  nobody answers",
        ">yard   playing               4.20 Mbit/s    25.0/s    0.00 %  3 lost",
        " front  playing               4.20 Mbit/s    25.0/s    0.00 %",
        "",
        " ↑↓ choose   enter one in full   q end the run",
      ])
  }

  @Test("a figure is shown in full, or not at all", arguments: 30...140)
  func wholeFigures(columns: Int) {
    let view = FleetView(
      title: "cameras.yaml", time: "12:00:10",
      models: [Self.stream("a-camera-with-a-rather-long-name-at-the-back-door")],
      selection: nil, question: nil, news: nil)
    let text = view.lines(columns: columns, rows: 7).map(\.text)
    for (title, figure) in [
      ("RATE", "4.20 Mbit/s"), ("PICTURES", "25.0/s"), ("LOSS", "0.00 %"), ("JITTER", " ms"),
    ] {
      #expect(text[1].contains(title) == text[2].contains(figure), "\(text)")
    }
    #expect(text[1].contains("LOSS") == (columns >= 73), "\(text)")
  }

  @Test("text takes as many columns as a terminal gives it")
  func widths() {
    #expect(ScreenLine("abc").width == 3)
    #expect(ScreenLine("カメラ").width == 6)
    #expect(ScreenLine("e\u{301}").width == 1)
    #expect("カメラ".cut(to: 5) == "カメ")
    var line = ScreenLine()
    line.add("カメラ", width: 5)
    #expect(line.text == "カメ " && line.width == 5)
    #expect(ScreenLine("a\u{1B}]0;x\u{7}\nb").text == "a?]0;x??b")
  }

  @Test("a graph fits in its place, and shows what is not nothing")
  func graphs() {
    let line = Sparkline([0, 0.001, 50, 100], width: 6, height: 1, .blocks)
    #expect(line[0] == "   ▁▄█")
    let tall = Sparkline([0, 25, 50, 100], width: 4, height: 2, .blocks)
    #expect([tall[0], tall[1]] == ["   █", " ▄██"])
    #expect(Sparkline([.infinity, -1], width: 2, height: 1, .letters)[0].count == 2)
    #expect(Sparkline([], width: 0, height: 0, .blocks)[0] == "")
  }

  @Test("without colours, nothing is coloured, and what is wrong is still seen")
  func colours() {
    for tone in [Tone.plain, .faint, .strong, .good, .warning, .bad, .reversed] {
      #expect(!tone.code(isColoured: false).hasPrefix("3"))
    }
    #expect(Tone.bad.code(isColoured: true) == "31" && Tone.bad.code(isColoured: false) == "1")
  }

  @Test("keys are those of terminals")
  func keys() {
    let bytes = Array("\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[1;5C\r\u{1B}".utf8) + Array("qjx".utf8)
    #expect(
      MonitorKey.keys(in: bytes) == [
        .up, .down, .pageUp, .enter, .enter, .back, .quit, .down, .other,
      ])
    #expect(MonitorKey.keys(in: Array("\u{1B}[".utf8)) == [.other])
  }

  @Test("a fleet is ended on purpose only")
  func choosing() {
    var choice = MonitorChoice(hasTable: true)
    let names = ["a", "b", "c"]
    func press(_ keys: MonitorKey...) -> MonitorChoice.Outcome {
      keys.reduce(.goesOn) { $0 == .ends ? $0 : choice.take($1, among: names) }
    }
    #expect(press(.down, .down, .down) == .goesOn)
    #expect(choice.selection == "c")
    #expect(press(.enter) == .goesOn)
    #expect(choice.isInFull)
    #expect(press(.quit) == .goesOn)
    #expect(!choice.isInFull && !choice.isAsking)
    #expect(press(.quit, .other) == .goesOn)
    #expect(!choice.isAsking)
    #expect(press(.quit, .yes) == .ends)
    var unmoved = MonitorChoice(hasTable: true)
    _ = unmoved.take(.enter, among: names)
    #expect(unmoved.isInFull && unmoved.selection == "a")
    var single = MonitorChoice(hasTable: false)
    #expect(single.isInFull)
    #expect(single.take(.back, among: [""]) == .goesOn)
    #expect(single.take(.quit, among: [""]) == .ends)
  }
}

extension String {
  fileprivate var trimmingEnd: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
