import Foundation
import TestSupport
import Testing

/// Plans of `rtp-send`, and what `rtp-recv` says of them.
@Suite struct ImpairmentTests {
  private static let pattern = ["pattern", "--size", "320x240"]

  private static func plan(_ text: String) throws -> String {
    let path = try Scratch.path("plan")
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  /// The log is the oracle of the receiver's counters.
  @Test func everyVerdictIsCountedByTheReceiver() throws {
    let plan = try Self.plan(
      """
      0.2-0.8  loss 5%, duplicate 3%, reorder 5% 5
      1-1.5    burst-loss 10% 4
      1.5-1.8  lose 1 of 10
      """)
    let log = try Scratch.path("log")
    let (receiver, port) = try CommandTests.listener(
      ["--stats", "-", "--timeout", "10", "--reorder-window", "2000"])
    let sender = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(port)", "--frames", "60", "--no-rtcp", "--packet-size"]
        + ["300", "--plan", plan, "--seed", "5", "--log", log, "--stats", "-"])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 5, "\(receiver.standardError)")
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    let verdicts = try lines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    func count(_ stage: String) -> Int { verdicts.count { $0["stage"] as? String == stage } }
    let received = try Statistics(lastLineOf: receiver)
    #expect(count("loss") > 10 && count("duplication") > 0 && count("reordering") > 0)
    #expect(received["rtp", "lost"] == count("loss"))
    #expect(received["rtp", "duplicate"] == count("duplication"))
    let packets = try Statistics(lastLineOf: sender)["packets"]
    #expect(count("loss") + count("passed") == packets)
    // Nothing happens outside of its time.
    for verdict in verdicts where verdict["stage"] as? String == "loss" {
      let time = try #require(verdict["time"] as? Double)
      #expect((0.2..<0.8).contains(time) || (1..<1.8).contains(time))
    }
  }

  @Test func aPlanChangesTheSizeOfThePattern() throws {
    let plan = try Self.plan("0.5 size 256x144\n0.7 parameter-sets")
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener(["-o", output])
    let sender = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(port)", "--frames", "60", "--speed", "2", "--plan", plan])
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: output).count == 30)
    let second = output.replacing(".y4m", with: ".0001.y4m")
    #expect(try FFmpeg.frameHashes(of: second).count == 30)
  }

  /// A sender that starts again, or whose numbers or clock leap, at its second key picture.
  @Test(arguments: [
    "1 restart", "1 jump sequence 1000", "1 jump sequence -1000", "1 jump timestamp 900000",
    "1 jump timestamp -900000", "1 jump clock 1h", "1 jump clock -1h",
  ])
  func numbersThatLeapLoseNothing(text: String) throws {
    let expected = try Self.frames(of: "")
    #expect(expected.count == 75)
    #expect(try Self.frames(of: text) == expected)
  }

  /// Nobody knows what was between the two numberings, so that pictures are damaged up to the next
  /// key picture.
  @Test func damageWhereNumbersBeginAnewIsNamedByItsCause() throws {
    let (receiver, port) = try CommandTests.listener(
      ["-o", Scratch.path("y4m"), "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(port)", "--frames", "75", "--gop", "25", "--fps", "25"]
        + ["--seed", "1", "--plan", Self.plan("1.2 jump sequence 20000")])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let words = receiver.standardError
    let cause = #/; nothing lost.*; pictures: .*\d+ where the stream began/#
    #expect(words.contains(cause), "\(words)")
  }

  /// Nothing comes for 400 ms.
  @Test func silenceCostsWhatWasSentInIt() throws {
    let expected = try Self.frames(of: "")
    let hashes = try Self.frames(of: "1-1.4 silence")
    #expect(hashes.prefix(25) == expected.prefix(25))
    // From the third key picture on.
    #expect(hashes.suffix(25) == expected.suffix(25))
    #expect(hashes.count < 75)
  }

  /// What a receiver makes of three seconds of the pattern with a key picture in each.
  private static func frames(of text: String) throws -> [String] {
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener(["-o", output, "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend,
      pattern + ["udp://127.0.0.1:\(port)", "--frames", "75", "--gop", "25", "--fps", "25"]
        + ["--seed", "1", "--plan", try plan(text)])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    try receiver.waitForExit()
    return try FFmpeg.frameHashes(of: output)
  }

  @Test(arguments: [
    (["--plan", "wifi", "--loss", "2"], "a share is 0 to 1"),
    (["--plan", "nothing"], "--plan takes wifi, lte"),
  ])
  func mistakes(options: [String], words: String) throws {
    let sender = try RunningProcess(
      Product.rtpSend, Self.pattern + ["udp://127.0.0.1:9"] + options)
    #expect(try sender.waitForExit() == 64)
    #expect(sender.standardError.contains(words), "\(sender.standardError)")
  }

  @Test func aPlanWithAMistakeIsRefusedWithItsLine() throws {
    let path = try Self.plan("0 loss 1%\n5 size 640x360\n")
    let file = try RunningProcess(
      Product.rtpSend, ["/dev/null", "udp://127.0.0.1:9", "--plan", path])
    #expect(try file.waitForExit() == 64)
    #expect(file.standardError.contains("for the pattern alone"), "\(file.standardError)")
    let wrong = try Self.plan("0 loss 1%\n5 lose all\n")
    let sender = try RunningProcess(
      Product.rtpSend, Self.pattern + ["udp://127.0.0.1:9", "--plan", wrong])
    #expect(try sender.waitForExit() == 64)
    #expect(sender.standardError.contains("line 2: lose needs a number"), "\(sender.standardError)")
  }
}
