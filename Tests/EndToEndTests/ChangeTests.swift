import Foundation
import TestSupport
import Testing

/// A sender that is started again with other settings, where nothing describes it.
@Suite struct ChangeTests {
  /// What is different the second time.
  struct Change: Sendable, CustomTestStringConvertible {
    var payloadType = 96
    var ssrc = 1
    var codec = Clip.Codec.h265

    var testDescription: String { "\(codec), type \(payloadType), SSRC \(ssrc)" }
  }

  /// Sends `clip` from and to these ports, and its reports to nobody: they would say goodbye.
  private static func send(
    _ clip: Clip, _ change: Change, number: Int, from origin: UInt16, to port: UInt16
  ) throws {
    let sender = try RunningProcess(
      "ffmpeg",
      ["-v", "error", "-re", "-i", clip.container, "-c", "copy"]
        + ["-bsf:v", clip.codec == .h264 ? "h264_mp4toannexb" : "hevc_mp4toannexb"]
        + ["-f", "rtp", "-payload_type", "\(change.payloadType)", "-ssrc", "\(change.ssrc)"]
        + ["-seq", "\(number)"]
        + ["rtp://127.0.0.1:\(port)?pkt_size=1400&localrtpport=\(origin)&rtcpport=9"])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
  }

  /// FFmpeg has another port and another SSRC in each run, and here another address too.
  private static func sender(
    _ source: [String], to port: UInt16, from address: String
  ) throws -> RunningProcess {
    try RunningProcess(
      "ffmpeg",
      ["-v", "error", "-re"] + source + ["-f", "rtp"]
        + ["rtp://127.0.0.1:\(port)?pkt_size=1400&localaddr=\(address)&rtcpport=9"])
  }

  private static func file(_ clip: Clip) -> [String] {
    ["-i", clip.container, "-c", "copy", "-bsf:v", "h264_mp4toannexb,dump_extra"]
  }

  private static let endless =
    ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25", "-c:v", "libx264", "-g", "5"]
    + ["-preset", "ultrafast", "-tune", "zerolatency", "-x264-params", "repeat-headers=1"]

  /// The name of the second file of a recording.
  private static func continued(_ recording: String) -> String {
    recording.replacing(".mkv", with: ".0001.mkv")
  }

  @Test("a sender on the same machine that is started again is received after a second")
  func startedAgain() throws {
    let clip = try Clip.of(.h264)
    let (receiver, port) = try CommandTests.listener(
      ["--frames", "\(clip.frames + 1)", "--timeout", "60", "-o", Scratch.path("y4m")]
        + ["--stats", "-"])
    let first = try Self.sender(Self.file(clip), to: port, from: "127.0.0.1")
    #expect(try first.waitForExit() == 0, "\(first.standardError)")
    let second = try Self.sender(Self.file(clip), to: port, from: "127.0.0.1")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    withExtendedLifetime(second) {}
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["transport", "rebindings"] == 1)
    #expect(statistics["delivery", "damaged"] == 0)
    let line = String(decoding: receiver.standardOutput, as: UTF8.self).split(separator: "\n").last
    let gap = line?.firstMatch(of: #/"gaps":\[\{"start_s":[\d.]+,"start":"\d{4}-[^"]+Z"/#)
    #expect(gap != nil, "\(line ?? "")")
  }

  @Test("who else sends is named where the media stop")
  func anotherMachine() throws {
    let pictures = try Scratch.path("h264")
    let port = try FreePort.udpPair()
    let first = try Self.sender(Self.endless, to: port, from: "127.0.0.1")
    // --timeout is for what comes later, not for the start of a sender.
    try PassingStream.waitForDatagram(on: port)
    let (receiver, _) = try CommandTests.listener(
      ["--timeout", "3", "-o", pictures, "--stats", "-"], port: port)
    try waitUntil("pictures come") { Scratch.size(of: pictures) > 0 }
    let second = try Self.sender(Self.endless, to: port, from: "127.0.0.2")
    _ = try receiver.waitForLine(#/warning: .* came from another sender, 127\.0\.0\.2:/#)
    first.send(signal: SIGKILL)
    #expect(try receiver.waitForExit() == 5, "\(receiver.standardError)")
    withExtendedLifetime(second) {}
    let last = receiver.standardError.split(separator: "\n").last
    #expect(last?.contains("no more media for 3 s; ") == true, "\(receiver.standardError)")
    #expect(last?.contains("came from another sender, 127.0.0.2:") == true)
  }

  @Test(
    "the pictures go on, and recordings too",
    arguments: [
      Change(ssrc: 2), Change(), Change(payloadType: 97, ssrc: 2), Change(payloadType: 97),
      Change(payloadType: 97, codec: .h264), Change(payloadType: 97, ssrc: 2, codec: .h264),
    ])
  func change(_ change: Change) throws {
    let (first, second) = (try Clip.of(.h264), try Clip.of(change.codec))
    let frames = first.frames + second.frames
    let pictures = try Scratch.path("y4m")
    let recording = try Scratch.path("mkv")
    let capture = try Scratch.path("pcapng")
    func receive() throws -> Statistics {
      let (receiver, port) = try CommandTests.listener(
        ["-o", pictures, "-o", recording, "--capture", capture, "--frames", "\(frames)"]
          + ["--stats", "-", "--timeout", "10"])
      let origin = try FreePort.udpPair()
      try Self.send(first, Change(codec: .h264), number: 1, from: origin, to: port)
      try Self.send(second, change, number: 30_000, from: origin, to: port)
      #expect([0, 5].contains(try receiver.waitForExit()), "\(receiver.standardError)")
      return try Statistics(lastLineOf: receiver)
    }
    var statistics = try receive()
    // A recording rightly begins another file behind a pause of two seconds, which a busy machine
    // may make before it starts the second sender.
    for _ in 1..<5 where statistics.seconds("pictures", "longest_gap_s") > 1.5 {
      for path in [pictures, recording, Self.continued(recording), capture] {
        try? FileManager.default.removeItem(atPath: path)
      }
      statistics = try receive()
    }
    #expect(try FFmpeg.frameHashes(of: pictures) == first.hashes + second.hashes)
    #expect(statistics["rtp", "lost"] == 0 && statistics["rtp", "ignored_payload_type"] == 0)
    #expect(statistics["delivery", "intact"] == frames)
    let files = [recording, Self.continued(recording)].filter {
      FileManager.default.fileExists(atPath: $0)
    }
    #expect(files.count == (change.codec == .h264 ? 1 : 2))
    #expect(try files.flatMap { try FFmpeg.frameHashes(of: $0) } == first.hashes + second.hashes)
    #expect(try CaptureTests.hashes(of: capture) == first.hashes + second.hashes)
  }
}
