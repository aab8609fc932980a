import Foundation
import TestSupport
import Testing

/// `-o NAME.jsonl`: what became of each picture, beside what other programs say of it.
@Suite(.serialized)
struct PictureLinesTests {
  private typealias Line = [String: Any]

  private static let keys: Set<String> = [
    "number", "time_ns", "rtp_timestamp", "capture_time_ns", "first_arrival_ns", "last_arrival_ns",
    "first_sequence", "last_sequence", "lost", "late", "duplicate", "repaired", "bytes",
    "nal_units", "key", "condition", "reason", "decoding_time_ns", "width", "height",
    "pixel_format", "md5",
  ]

  private static func lines(_ text: String) throws -> [Line] {
    try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? Line)
    }
  }

  private static func lines(at path: String) throws -> [Line] {
    try lines(String(contentsOfFile: path, encoding: .utf8))
  }

  private static func int(_ value: Any?) -> Int? { value as? Int }

  /// Encodes a film with presentation times; those of a clip's container are in decoding order.
  private static func film(_ codec: Clip.Codec) throws -> String {
    let film = try Scratch.path("mp4")
    _ = try FFmpeg.output(
      ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=100", "-frames:v", "150"]
        + ["-pix_fmt", "yuv420p"] + codec.encoder + [film])
    return film
  }

  /// Sends `film` by rtp-send and captures it; returns the capture.
  private static func capture(_ film: String, _ options: [String] = []) throws -> String {
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener(["--capture", capture, "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend, [film, "udp://127.0.0.1:\(port)"] + options)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try sender.waitForExit() == 0)
    return capture
  }

  @Test("times, key pictures and hashes are those of FFmpeg", arguments: Clip.Codec.allCases)
  func besideFFmpeg(codec: Clip.Codec) throws {
    let film = try Self.film(codec)
    let output = try Scratch.path("jsonl")
    let player = try RunningProcess(
      Product.rtpRecv, [try Self.capture(film), "-o", output, "--frame-md5"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    let lines = try Self.lines(at: output)
    for line in lines { #expect(Set(line.keys) == Self.keys) }
    #expect(lines.map { Self.int($0["number"]) } == (1...150).map { $0 })
    #expect(try lines.compactMap { $0["md5"] as? String } == FFmpeg.frameHashes(of: film))
    #expect(lines.allSatisfy { $0["condition"] as? String == "intact" && $0["reason"] is NSNull })
    #expect(lines.allSatisfy { Self.int($0["width"]) == 320 && Self.int($0["lost"]) == 0 })
    #expect(lines.allSatisfy { Self.int($0["decoding_time_ns"]) ?? 0 > 0 })

    let probe = try RunningProcess.output(
      of: "ffprobe",
      ["-v", "error", "-select_streams", "v:0", "-show_entries", "frame=key_frame,pts_time"]
        + ["-of", "csv=p=0", film])
    let frames = String(decoding: probe, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: ",") }
    #expect(lines.map { $0["key"] as? Bool } == frames.map { $0[0] == "1" })
    let times = frames.compactMap { Double($0[1]) }
    let first = try #require(times.first)
    for (line, time) in zip(lines, times) {
      // The clock of RTP has steps of 11 µs.
      let found = Double(try #require(Self.int(line["time_ns"]))) / 1e9
      #expect(abs(found - (time - first)) < 0.00003)
    }
    let units = try #require(lines.first?["nal_units"] as? [String])
    let expected =
      codec == .h264 ? ["sps", "pps", "slice_idr"] : ["vps", "sps", "pps", "idr_n_lp"]
    #expect(units.filter { !$0.contains("sei") } == expected)
  }

  @Test("every packet that is lost or comes twice is at its picture")
  func packets() throws {
    let (receiver, port) = try CommandTests.listener(
      ["-o", "-", "--format", "jsonl", "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "120", "--no-rtcp"]
        + ["--stats", "-", "--packet-size", "300", "--loss", "0.03", "--duplicate", "0.02"]
        + ["--seed", "11", "--ssrc", "\(Goodbye.source)"])
    try sender.waitForExit()
    try Goodbye.say(toPortAbove: port)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let sent = try Statistics(lastLineOf: sender)
    let lines = try Self.lines(String(decoding: receiver.standardOutput, as: UTF8.self))
    func sum(_ key: String) -> Int { lines.reduce(0) { $0 + (Self.int($1[key]) ?? 0) } }
    #expect(sum("lost") > 0)
    #expect(sum("lost") == sent["lost"])
    // What comes after the last packet in order belongs to no picture any more.
    #expect((sent["duplicated"] - 2...sent["duplicated"]).contains(sum("duplicate")))
    for line in lines {
      let isLost = Self.int(line["lost"]) ?? 0 > 0
      if isLost { #expect(line["condition"] as? String != "intact", "\(line)") }
      let first = try #require(Self.int(line["first_sequence"]))
      let last = try #require(Self.int(line["last_sequence"]))
      #expect(first <= last)
      #expect(
        try #require(Self.int(line["first_arrival_ns"]))
          <= #require(Self.int(line["last_arrival_ns"])))
    }
    let ranges = lines.compactMap { Self.int($0["first_sequence"]) }
    #expect(ranges == ranges.sorted())
    let now = Date().timeIntervalSince1970
    let arrival = Double(try #require(Self.int(lines.last?["last_arrival_ns"]))) / 1e9
    #expect((now - 120...now).contains(arrival))
  }

  @Test("packets that come too late are counted at the picture that comes then")
  func late() throws {
    let output = try Scratch.path("jsonl")
    let (receiver, port) = try CommandTests.listener(
      ["-o", output, "--timeout", "20", "--reorder-window", "1", "--stats", "-"])
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "120", "--packet-size", "300"]
        + ["--reorder", "0.03,30", "--seed", "4"])
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let lines = try Self.lines(at: output)
    let late = lines.reduce(0) { $0 + (Self.int($1["late"]) ?? 0) }
    let counted = try Statistics(lastLineOf: receiver)["rtp", "late"]
    // What comes after the last packet in order belongs to no picture any more.
    #expect((counted - 2...counted).contains(late), "\(late) of \(counted)")
  }

  @Test("packets that are sent again are counted at their picture")
  func repaired() throws {
    let sender = try RunningProcess(
      Product.rtpSend,
      CommandTests.pattern + ["listen://127.0.0.1:0", "--once", "--frames", "120"]
        + ["--feedback", "nack", "--packet-size", "300", "--loss", "0.05", "--seed", "4"])
    let address = try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1
    let output = try Scratch.path("jsonl")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "--feedback", "nack", "-o", output, "--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let statistics = try Statistics(lastLineOf: receiver)
    let lines = try Self.lines(at: output)
    let repaired = lines.reduce(0) { $0 + (Self.int($1["repaired"]) ?? 0) }
    #expect(repaired > 0)
    #expect(repaired == statistics["rtp", "repaired"])
    // The clocks of sender and receiver are the same.
    let captured = try #require(Self.int(lines.last?["capture_time_ns"]))
    let arrived = try #require(Self.int(lines.last?["last_arrival_ns"]))
    #expect(abs(captured - arrived) < 60_000_000_000)
  }

  @Test("pictures that are left out have a line with the reason")
  func leftOut() throws {
    let clip = try Clip.of(.h264)
    let capture = try Self.capture(clip.container, ["--loss", "0.02", "--seed", "3"])
    let output = try Scratch.path("jsonl")
    let player = try RunningProcess(
      Product.rtpRecv, [capture, "-o", output, "--on-loss", "skip", "--stats", "-"])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    let lines = try Self.lines(at: output)
    let statistics = try Statistics(lastLineOf: player)
    let out = lines.filter { $0["number"] is NSNull }
    #expect(out.allSatisfy { $0["condition"] as? String == "left_out" })
    #expect(
      out.count { $0["reason"] as? String == "not_intact" }
        == statistics["delivery", "decode_failures", "not_intact"])
    #expect(out.count > 0 && lines.count - out.count == statistics["delivery", "frames"])
    for line in lines { #expect(Set(line.keys) == Self.keys) }
  }

  @Test("an elementary stream beside it is what it is without")
  func besideAnElementaryStream() throws {
    let clip = try Clip.of(.h264)
    let capture = try Self.capture(clip.container)
    let (stream, output) = (try Scratch.path("h264"), try Scratch.path("jsonl"))
    let player = try RunningProcess(Product.rtpRecv, [capture, "-o", stream, "-o", output])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    #expect(try Self.lines(at: output).count == clip.frames)
    #expect(try FFmpeg.frameHashes(of: stream) == clip.hashes)
  }

  @Test("a full disk and a reader that is gone", arguments: [("> /dev/full", 6), ("| true", 7)])
  func unwritable(target: String, status: Int) throws {
    let capture = try Self.capture(try Clip.of(.h264).container)
    let shell = try RunningProcess(
      "bash",
      [
        "-c",
        "{ '\(Product.rtpRecv)' '\(capture)' -o - --format jsonl; echo status $? >&2; } \(target)",
      ])
    try shell.waitForExit()
    #expect(shell.standardError.contains("status \(status)\n"), "\(shell.standardError)")
  }
}
