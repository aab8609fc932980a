import Foundation
import TestSupport
import Testing

/// The output of a stream with packets lost for good, for `--on-loss` and `--constant-rate`.
@Suite(.serialized)
struct LossTests {
  /// What a network that loses one packet in fifty left of the clip, recorded once.
  private static let recording = Result { try record(losing: 0.02) }

  private static func record(losing share: Double) throws -> String {
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener(["--capture", capture, "--timeout", "3"])
    let sender = try RunningProcess(
      Product.rtpSend,
      [
        try Clip.of(.h264).container, "udp://127.0.0.1:\(port)", "--loss", "\(share)", "--seed",
        "3",
      ])
    #expect([0, 5].contains(try receiver.waitForExit()), "\(receiver.standardError)")
    #expect(try sender.waitForExit() == 0)
    return capture
  }

  /// Plays the recording; returns the hashes of the frames, the statistics and the messages.
  private func play(
    _ options: [String], of recording: String? = nil
  ) throws -> (hashes: [String], statistics: Statistics, summary: String) {
    let output = try Scratch.path("y4m")
    let player = try RunningProcess(
      Product.rtpRecv,
      [try recording ?? Self.recording.get(), "-o", output, "--stats", "-"] + options)
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    return (
      try FFmpeg.frameHashes(of: output), try Statistics(lastLineOf: player), player.standardError
    )
  }

  @Test("what is missing is made up, and each frame says what it is")
  func conceal() throws {
    let clip = try Clip.of(.h264)
    let (hashes, statistics, summary) = try play([])
    let intact = statistics["delivery", "intact"]
    let concealed = statistics["delivery", "concealed"]
    #expect(intact > 0 && concealed > 0)
    #expect(intact + concealed + statistics["delivery", "damaged"] == hashes.count)
    #expect(Set(hashes).intersection(clip.hashes).count >= intact)
    #expect(statistics["interval", "lost"] == statistics["rtp", "lost"])
    #expect(statistics["rtp", "lost"] > 0)
    #expect(summary.contains("lost in the network"))
    #expect(summary.contains("\(concealed) concealed"))
  }

  @Test func picturesThatCannotBeDecodedAreCountedInTheVerdict() throws {
    let (_, statistics, summary) = try play([], of: Self.record(losing: 0.5))
    let undecodable = statistics["delivery", "decode_failures", "decoder"]
    #expect(undecodable > 0)
    #expect(summary.contains("\(undecodable) not decodable"))
  }

  @Test("pictures that are not intact are left out")
  func skip() throws {
    let clip = try Clip.of(.h264)
    let (hashes, statistics, _) = try play(["--on-loss", "skip"])
    #expect(hashes.count == statistics["delivery", "intact"])
    #expect(hashes.count < clip.frames)
    #expect(Set(hashes).isSubset(of: clip.hashes))
  }

  @Test("the last intact picture replaces those that are not intact")
  func freeze() throws {
    let clip = try Clip.of(.h264)
    let (hashes, statistics, _) = try play(["--on-loss", "freeze"])
    #expect(Set(hashes).isSubset(of: clip.hashes))
    #expect(statistics["delivery", "repeated"] > 0)
    #expect(statistics["delivery", "freezes"] > 0)
  }

  @Test(
    "every frame interval has one frame",
    arguments: [[], ["--on-loss", "skip"], ["--on-loss", "freeze"], ["--on-loss", "corrupt"]])
  func constantRate(options: [String]) throws {
    let clip = try Clip.of(.h264)
    let (hashes, statistics, _) = try play(["--constant-rate"] + options)
    // How long the last shown picture lasts cannot be known.
    #expect((clip.frames - 60...clip.frames).contains(hashes.count))
    if options.isEmpty { #expect(hashes.count == clip.frames) }
    #expect(statistics["delivery", "surplus"] == 0)
    let exact = zip(hashes, clip.hashes).count { $0 == $1 }
    // Without the pictures before, the first one of a group may be at the place of another.
    if options.isEmpty { #expect(exact >= statistics["delivery", "intact"]) }
  }
}
