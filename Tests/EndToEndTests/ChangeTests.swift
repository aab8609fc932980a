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
    let (receiver, port) = try CommandTests.listener(
      [
        "-o", pictures, "-o", recording, "--capture", capture, "--frames", "\(frames)", "--stats",
        "-",
      ]
        + ["--timeout", "10"])
    let origin = try FreePort.udpPair()
    try Self.send(first, Change(codec: .h264), number: 1, from: origin, to: port)
    try Self.send(second, change, number: 30_000, from: origin, to: port)
    #expect([0, 5].contains(try receiver.waitForExit()), "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: pictures) == first.hashes + second.hashes)

    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0 && statistics["rtp", "ignored_payload_type"] == 0)
    #expect(statistics["delivery", "intact"] == frames)
    let files = [recording, recording.replacing(".mkv", with: ".0001.mkv")].filter {
      FileManager.default.fileExists(atPath: $0)
    }
    #expect(files.count == (change.codec == .h264 ? 1 : 2))
    #expect(try files.flatMap { try FFmpeg.frameHashes(of: $0) } == first.hashes + second.hashes)
    #expect(try CaptureTests.hashes(of: capture) == first.hashes + second.hashes)
  }
}
