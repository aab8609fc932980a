import Foundation
import TestSupport
import Testing

/// Two runs that are given one file to write.
@Suite(.serialized)
struct SharedFileTests {
  @Test(
    "a run refuses the file that another one writes, and leaves it whole",
    arguments: [
      ("-o", "mp4"), ("-o", "mkv"), ("-o", "y4m"), ("--stats", "jsonl"), ("--capture", "pcapng"),
    ])
  func refusal(option: String, ending: String) throws {
    let (sender, address) = try CommandTests.server([])
    let (path, reference) = (try Scratch.path(ending), try Scratch.path("h264"))
    let first = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", reference, option, path])
    try waitUntil("the file has something in it") { Scratch.size(of: path) > 0 }
    let second = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", option, path, "--timeout", "3"])
    #expect(try second.waitForExit() == 6, "\(second.standardError)")
    #expect(
      second.standardError.contains("is being written by another program; choose another name"),
      "\(second.standardError)")
    first.send(signal: SIGINT)
    #expect(try first.waitForExit() == 0, "\(first.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    switch option {
    case "--stats":
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      for line in lines {
        #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
      }
      #expect(lines.last?.contains(#""final":true"#) == true)
    case "--capture":
      let player = try RunningProcess(Product.rtpRecv, [path, "-o", try Scratch.path("h264")])
      #expect(try player.waitForExit() == 0, "\(player.standardError)")
    default:
      let hashes = try FFmpeg.frameHashes(of: path)
      let all = try FFmpeg.frameHashes(of: reference)
      #expect(!hashes.isEmpty && Set(hashes).isSubset(of: all))
    }
  }

  @Test("a run replaces the file of another one that was killed")
  func killed() throws {
    let path = try Scratch.path("mkv")
    for isKilled in [true, false] {
      let (sender, address) = try CommandTests.server([])
      let receiver = try RunningProcess(
        Product.rtpRecv, ["udp://\(address)", "-o", path] + (isKilled ? [] : ["--frames", "10"]))
      if isKilled {
        try waitUntil("the file has something in it") { Scratch.size(of: path) > 0 }
        receiver.send(signal: SIGKILL)
      }
      let status = try receiver.waitForExit()
      #expect(isKilled || status == 0, "\(receiver.standardError)")
      sender.send(signal: SIGTERM)
      try sender.waitForExit()
    }
    #expect(try RecordingTests.probe(path, "stream=nb_read_packets") == "10")
  }
}
