import Foundation
import Impairment
import TestSupport
import Testing

/// The quirks of cameras, as `rtp-send` shows them: `rtp-recv` stands every one.
@Suite struct QuirkTests {
  private static let frames = 45
  private static let pattern = [
    "pattern", "--size", "320x240", "--frames", "\(frames)", "--gop", "15", "--speed", "3",
    "--packet-size", "600", "--bframes", "2", "--seed", "1",
  ]

  /// What the frames of the pattern are where nothing is wrong.
  private static let expected: [String: Result<[String], any Error>] = {
    var expected: [String: Result<[String], any Error>] = [:]
    for codec in ["h264", "h265"] {
      expected[codec] = Result { try run(nil, codec) }
    }
    return expected
  }()

  private static func run(_ quirk: Quirk?, _ codec: String) throws -> [String] {
    let output = try Scratch.path("y4m")
    var options = ["-o", output, "--timeout", "10"]
    if quirk == .parameterSetsInSDP { options += ["--sdp", try description(of: codec)] }
    let (receiver, port) = try CommandTests.listener(options)
    let sender = try RunningProcess(
      Product.rtpSend,
      pattern + ["--codec", codec, "udp://127.0.0.1:\(port)"]
        + (quirk.map { ["--quirk", $0.rawValue] } ?? []))
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    let status = try receiver.waitForExit()
    #expect(quirk == .fragmentWithoutStart || status == 0, "\(receiver.standardError)")
    return try FFmpeg.frameHashes(of: output)
  }

  private static func description(of codec: String) throws -> String {
    let path = try Scratch.path("sdp")
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "--size", "320x240", "--gop", "15", "--bframes", "2", "--codec", codec]
        + ["udp://127.0.0.1:9", "--frames", "1", "--sdp", path])
    // Nobody listens there.
    try sender.waitForExit()
    return path
  }

  @Test(arguments: Quirk.allCases, ["h264", "h265"])
  func framesAreExact(quirk: Quirk, codec: String) throws {
    let expected = try #require(Self.expected[codec]).get()
    #expect(expected.count == Self.frames)
    let hashes = try Self.run(quirk, codec)
    switch quirk {
    case .fragmentWithoutStart:
      // Nobody can know what a unit without a beginning is; small ones come whole.
      #expect(hashes.count <= Self.frames)
    default:
      #expect(hashes == expected)
    }
  }

  @Test func theNamesAreListed() throws {
    let sender = try RunningProcess(
      Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--quirk", "list"])
    #expect(try sender.waitForExit() == 0)
    let text = String(decoding: sender.standardOutput, as: UTF8.self)
    for quirk in Quirk.allCases { #expect(text.contains("\(quirk.rawValue) ")) }
    let wrong = try RunningProcess(
      Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--quirk", "no-marker,rust"])
    #expect(try wrong.waitForExit() == 64)
  }
}
