import Foundation
import TestSupport
import Testing

/// `--expect`: rules, what was measured, and what a script is told.
@Suite(.serialized)
struct ExpectationTests {
  /// Three seconds of the pattern with a key picture a second, recorded once without losses.
  private static let recording = Result { () throws -> String in
    let capture = try Scratch.path("pcapng")
    let (sender, address) = try CommandTests.server([
      "--frames", "90", "--gop", "30", "--fps", "30",
    ])
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--capture", capture, "--quiet"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    return capture
  }

  /// One rule's result.
  private struct Entry: Decodable {
    let rule: String
    let metric: String
    let measured: Value
    let unit: String?
    let held: Bool?
    let reason: String?
  }

  private enum Value: Decodable, Equatable {
    case number(Double), words(String), none

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .none
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else {
        self = .words(try container.decode(String.self))
      }
    }
  }

  private struct Verdict: Decodable {
    let held: Bool?
    let rules: [Entry]
  }

  private struct Line: Decodable {
    let expect: Verdict
  }

  private func result(in text: some StringProtocol) throws -> Verdict {
    let line = try #require(text.split(separator: "\n").last { $0.contains(#""expect":"#) })
    return try JSONDecoder().decode(Line.self, from: Data(line.utf8)).expect
  }

  private func play(
    _ rules: String, _ options: [String] = []
  ) throws -> (status: Int32, result: Verdict, words: String) {
    let player = try RunningProcess(
      Product.rtpRecv, [try Self.recording.get(), "--expect", rules] + options)
    let status = try player.waitForExit()
    let output = String(decoding: player.standardOutput, as: UTF8.self)
    #expect(output.split(separator: "\n").count == 1, "\(output)")
    return (status, try result(in: output), player.standardError)
  }

  @Test(
    "a rule holds, does not hold, or cannot be measured",
    arguments: [
      ("frames=90", 0), ("frames>=90", 0), ("FRAMES > 89", 0), ("frames<90", 15),
      ("frames!=90", 15), ("fps=30", 0), ("fps>=29.97", 0), ("fps>30", 15), ("duration=3s", 0),
      ("duration>=3001ms", 15), ("size=256x144", 0), ("size!=256X144", 15), ("codec=H264", 0),
      ("codec=h265", 15), ("audio=none", 0), ("audio=aac", 15), ("loss<=0%", 0), ("loss<0.001", 0),
      ("loss>0.1%", 15), ("lost=0", 0), ("intact=90", 0), ("concealed=0", 0), ("damaged>0", 15),
      ("intact=100%", 0), ("intact<100%", 15), ("damaged<=0.5%", 0),
      ("repeated=0", 0), ("freezes=0", 0), ("gap<=3s", 0), ("gap>1h", 15), ("duration<5m", 0),
      ("gap>=1d", 15), ("gap<=0.5min", 0), ("key_interval=1s", 0),
      ("key_interval<=999ms", 15), ("bitrate>=10kbit/s", 0), ("bitrate>1Gbit/s", 15),
      ("jitter<=1min", 0), ("reconnects=0", 0), ("latency<=1s", 16), ("max_latency<=1s", 16),
      ("first_frame<=10s", 16), ("frames=90,fps>24,size=256x144", 0), ("frames=90,fps>30", 15),
      ("frames=90,latency<1s", 16), ("fps>30,latency<1s", 15),
    ])
  func rules(rules: String, status: Int32) throws {
    let (found, result, words) = try play(rules)
    #expect(found == status, "\(words)")
    #expect(
      result.rules.map(\.rule) == rules.filter { $0 != " " }.split(separator: ",").map(String.init))
    #expect(result.held == (status == 0 ? true : status == 15 ? false : nil))
    for entry in result.rules {
      #expect((entry.measured == .none) == (entry.held == nil), "\(entry)")
      #expect((entry.reason == nil) == (entry.held != nil), "\(entry)")
      let isTold = words.contains("expected \(entry.rule), but")
      #expect(isTold == (entry.held == false), "\(words)")
      #expect(
        words.contains("\(entry.rule) could not be measured") == (entry.held == nil), "\(words)")
    }
  }

  @Test func whatWasMeasuredHasAUnit() throws {
    let (_, result, _) = try play(
      "frames=90,duration=3s,fps=30,size=256x144,loss=0,key_interval=1s,intact=90,intact=100%")
    #expect(
      result.rules.map(\.measured)
        == [.number(90), .number(3), .number(30), .words("256x144"), .number(0), .number(1)]
        + [.number(90), .number(100)])
    #expect(result.rules.map(\.unit) == [nil, "s", "1/s", nil, "%", "s", nil, "%"])
    #expect(
      result.rules.map(\.metric)
        == ["frames", "duration", "fps", "size", "loss", "key_interval", "intact", "intact"])
  }

  @Test(
    "a rule that cannot be read is named, with what there is",
    arguments: [
      ("frame>=3", "there is no metric named 'frame'; there are frames, fps,"),
      ("", "a rule begins with what is measured"),
      ("frames>=3,,fps>1", "there is a comma without a rule beside it"),
      ("frames>=3,", "there is a comma without a rule beside it; leave it out"),
      ("frames>>3", "'frames>>3': frames is not followed by a comparison"),
      ("frames=>80", "comparison that it has; there are <= >= != < > ="),
      ("fps==80", "comparison that it has; there are <= >= != < > ="), ("frames", "comparison"),
      ("frames>=8 loss=0", "'8 loss=0' is no value of frames; rules are separated by commas"),
      ("frames>=8; loss=0", "'8; loss=0' is no value of frames; rules are separated by commas"),
      ("codec=h264 intact", "there are h264, h265"), ("codec=avc", "there are h264, h265"),
      ("audio=yes", "there are aac, opus, pcmu, pcma, g722, g726le, g726, l8, l16, l24, none"),
      ("frames>=3.5", "try a whole number"), ("frames>=-1", "try a whole number"),
      ("intact>=101%", "such as 100%"), ("intact>=0.9", "a share of the frames"),
      ("loss<=2", "try 0.1% or 0.001"), ("loss<=1", "try 0.1%"), ("loss<=101%", "try 0.1%"),
      ("loss<=x%", "try 0.1%"), ("gap<=5", "try 0.5s, 500ms"),
      ("size>=1x1", "comparison"), ("size=1080p", "try 1920x1080"),
      ("codec=", "there are h264"),
      ("bitrate>=2M", "try 2Mbit/s"), ("fps>=1e3", "try a number"), ("fps>=nan", "try a number"),
    ])
  func mistakes(rules: String, words: String) throws {
    let process = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0", "--expect", rules])
    #expect(try process.waitForExit() == 64)
    #expect(process.standardError.contains("--expect"), "\(process.standardError)")
    #expect(process.standardError.contains(words), "\(process.standardError)")
  }

  @Test("the rules of several --expect all count")
  func several() throws {
    let (status, result, words) = try play("fps>30", ["--expect", "frames=90,loss=0%"])
    #expect(status == 15)
    #expect(result.rules.map(\.rule) == ["fps>30", "frames=90", "loss=0%"])
    #expect(words.contains("expected fps>30, but fps was 30.000\n"), "\(words)")
  }

  @Test("counts are whole numbers, and an interval that has not ended says so")
  func words() throws {
    let recording = try Self.recording.get()
    let player = try RunningProcess(
      Product.rtpRecv, [recording, "--frames", "50", "--expect", "frames=50, key_interval<=5s"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    let output = String(decoding: player.standardOutput, as: UTF8.self)
    #expect(output.contains(#""measured":50,"#), "\(output)")
    let (status, _, words) = try play("key_interval<=500ms", ["--frames", "25"])
    #expect(status == 15)
    #expect(words.contains("key_interval was at least 0.800 s"), "\(words)")
    let (unknown, _, reason) = try play("key_interval<=5s", ["--frames", "25"])
    #expect(unknown == 16)
    #expect(
      reason.contains("the run ended before the key picture came that ends the interval"),
      "\(reason)")
  }

  @Test("an error of the run comes first, and the result is there all the same")
  func errorsFirst() throws {
    let (short, result, words) = try play("frames>=80", ["--frames", "500"])
    #expect(short == 13, "\(words)")
    #expect(result.held == true)
    let nothing = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:0", "--timeout", "0.5"]
        + ["--expect", "frames>=1,loss=0,fps>1,concealed=0,audio=none"])
    #expect(try nothing.waitForExit() == 4, "\(nothing.standardError)")
    let none = try self.result(in: String(decoding: nothing.standardOutput, as: UTF8.self))
    #expect(none.rules.map(\.held) == [false, nil, nil, nil, nil])
    #expect(none.held == false)
  }

  @Test("where nothing is decoded, access units are measured, and conditions are a mistake")
  func undecoded() throws {
    let output = try Scratch.path("h264")
    let (status, _, words) = try play(
      "frames=90,fps=30,size=256x144,key_interval=1s,duration=3s", ["-o", output])
    #expect(status == 0, "\(words)")
    let receiver = try RunningProcess(
      Product.rtpRecv, [Self.recording.get(), "-o", output, "--expect", "frames=90,concealed=0"])
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardOutput.isEmpty)
    let reasons = receiver.standardError
    #expect(reasons.contains("--expect 'concealed=0': "), "\(reasons)")
    #expect(reasons.contains("nothing is decoded here; add -o FILE.jsonl"), "\(reasons)")
    let (remedied, _, said) = try play("concealed=0", ["-o", output, "-o", Scratch.path("jsonl")])
    #expect(remedied == 0, "\(said)")
  }

  @Test("the result is printed where the file of the statistics has those of another run")
  func formerStatistics() throws {
    let path = try Scratch.path("jsonl")
    let former = #"{"final":true,"expect":{"held":true}}"# + "\n"
    try former.write(toFile: path, atomically: true, encoding: .utf8)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:0", "--timeout", "0.5", "--stats", path, "--expect", "frames>=1"])
    #expect(try receiver.waitForExit() != 0)
    let printed = String(decoding: receiver.standardOutput, as: UTF8.self)
    #expect(printed.contains(#""held":false"#), "\(printed)")
    #expect(
      receiver.standardError.contains("\(path) is left as it was"), "\(receiver.standardError)")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == former)
  }

  @Test("the result goes where nothing else goes")
  func places() throws {
    let recording = try Self.recording.get()
    let path = try Scratch.path("jsonl")
    let withStatistics = try RunningProcess(
      Product.rtpRecv, [recording, "--stats", path, "--expect", "frames=90"])
    #expect(try withStatistics.waitForExit() == 0, "\(withStatistics.standardError)")
    #expect(withStatistics.standardOutput.isEmpty)
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(try result(in: try #require(lines.last)).held == true)
    #expect(lines.last?.contains(#""final":true"#) == true)

    let withVideo = try RunningProcess(
      Product.rtpRecv, [recording, "-o", "-", "--format", "yuv", "--expect", "frames=90"])
    #expect(try withVideo.waitForExit() == 0, "\(withVideo.standardError)")
    #expect(withVideo.standardOutput.count == 90 * 256 * 144 * 3 / 2)
    #expect(try result(in: withVideo.standardError).held == true)
  }

  @Test("a result that cannot be written is no success", arguments: [("/dev/full", "No space")])
  func unwritable(path: String, reason: String) throws {
    let recording = try Self.recording.get()
    let shell = try RunningProcess(
      "bash", ["-c", "'\(Product.rtpRecv)' '\(recording)' --expect frames=90 > \(path)"])
    #expect(try shell.waitForExit() == 6, "\(shell.standardError)")
    #expect(shell.standardError.contains(reason), "\(shell.standardError)")
  }

  @Test func aReaderThatIsGoneIsTold() throws {
    let recording = try Self.recording.get()
    let shell = try RunningProcess(
      "bash",
      ["-c", "{ '\(Product.rtpRecv)' '\(recording)' --expect frames=90; echo $? >&2; } | true"])
    try shell.waitForExit()
    #expect(shell.standardError.hasSuffix("7\n"), "\(shell.standardError)")
  }

  @Test("a live stream has latencies, and silence before its end is a gap")
  func live() throws {
    let (receiver, port) = try CommandTests.listener(
      ["--duration", "4"]
        + ["--expect", "latency<1min, max_latency<1min, first_frame<1min, gap>=1s"])
    // A second of pictures, and no goodbye.
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "60", "--no-rtcp"])
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
  }

  @Test("what is waited for behind the last picture of a sender is no gap")
  func patience() throws {
    let (receiver, port) = try CommandTests.listener(["--timeout", "8", "--expect", "gap<=6s"])
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "30", "--no-rtcp"])
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 5)
    #expect(
      try result(in: String(decoding: receiver.standardOutput, as: UTF8.self)).held == true)
  }

  @Test("losses are measured as they are counted")
  func losses() throws {
    let (receiver, port) = try CommandTests.listener(
      ["--timeout", "20", "--stats", "-", "--expect", "loss<=0.1%, lost=0, concealed=0"])
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "90", "--packet-size", "300"]
        + ["--loss", "0.05", "--seed", "3"])
    try sender.waitForExit()
    // The sender says goodbye, or that is lost too.
    #expect([15, 5].contains(try receiver.waitForExit()), "\(receiver.standardError)")
    let statistics = try Statistics(lastLineOf: receiver)
    let found = try result(in: String(decoding: receiver.standardOutput, as: UTF8.self))
    let (lost, delivered) = (statistics["rtp", "lost"], statistics["rtp", "delivered"])
    #expect(lost > 0 && found.held == false)
    guard case .number(let share) = found.rules[0].measured else {
      Issue.record("\(found)")
      return
    }
    #expect(abs(share - 100 * Double(lost) / Double(lost + delivered)) < 0.00001)
    #expect(found.rules[1].measured == .number(Double(lost)))
    #expect(found.rules[2].measured == .number(Double(statistics["delivery", "concealed"])))
  }
}
