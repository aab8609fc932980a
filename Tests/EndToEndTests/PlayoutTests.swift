import Foundation
import TestSupport
import Testing

/// `--pace`: what leaves at its own time.
@Suite(.serialized)
struct PlayoutTests {
  /// What a recording of 3 s is told, or one of 15 s where it is slow, and how long it then takes.
  static let paces: [(options: [String], isSlow: Bool, seconds: ClosedRange<Double>)] = [
    ([], false, 2.9...60), (["--speed", "4"], true, 3.6...14),
  ]

  @Test(
    "a recording takes as long as it is, or as --speed says, and loses nothing", arguments: paces)
  func recording(options: [String], isSlow: Bool, seconds: ClosedRange<Double>) throws {
    let clip = try Clip.of(.h264)
    let recording = try SendingServer(isSlow ? clip.slowContainer : clip.container, ["--fast"])
      .save()
    let output = try Scratch.path("y4m")
    let start = ContinuousClock.now
    // Through a pipe, as into a player.
    let player = try RunningProcess(
      "sh",
      ["-c", #""$0" "$@" --pace -o - --stats fd:2 > "$OUTPUT""#, Product.rtpRecv, recording]
        + options,
      environment: ["OUTPUT": output])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    #expect(seconds.contains(start.duration(to: .now) / .seconds(1)))
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    #expect(player.standardError.contains(#""playout":{"delay_ms":0"#), "\(player.standardError)")
  }

  @Test("of a live stream all frames leave")
  func live() throws {
    let (sender, address) = try CommandTests.server(["--frames", "60"])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--pace", "-o", output, "--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: output).count == 60)
    #expect(String(decoding: receiver.standardOutput, as: UTF8.self).contains(#""playout":{"#))
    try sender.waitForExit()
  }

  @Test("a signal ends a paced recording at once, on a whole frame")
  func signal() throws {
    let clip = try Clip.of(.h264)
    let server = try SendingServer(clip.container, ["--fast", "--once"])
    let output = try Scratch.path("yuv")
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url, "--pace", "-o", output])
    // A picture has been decoded then: at the end there is little time for that.
    try waitUntil("a picture is written") { Scratch.size(of: output) > 0 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let size = Scratch.size(of: output)
    #expect(size > 0)
    #expect(size.isMultiple(of: 320 * 240 * 3 / 2))
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
  }

  @Test(
    "pacing what has no time of its own is a mistake",
    arguments: [["-o", "x.h264"], ["-o", "x.ts"], []])
  func mistake(outputs: [String]) throws {
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0", "--pace"] + outputs)
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains("--pace has no effect"))
    #expect(receiver.standardError.contains("those are yuv, y4m, shm:, wav, aac, opus, pcm"))
  }
}
