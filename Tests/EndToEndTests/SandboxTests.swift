import Foundation
import TestSupport
import Testing

/// `--sandbox`: the decoder's process beside the command's own.
@Suite(.serialized)
struct SandboxTests {
  @Test("a short stream waits for a decoder that starts late, as on a busy machine")
  func lateDecoder() throws {
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener(["-o", output, "--timeout", "20"])
    let process = try DecoderProcesses.one(of: receiver.processIdentifier)
    kill(process, SIGSTOP)
    let sender = try RunningProcess(
      Product.rtpSend, CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "20"])
    #expect(try sender.waitForExit() == 0)
    // Longer than outputs get at the end of a run.
    let clock = try RunningProcess("sh", ["-c", "sleep 3; kill -CONT \(process)"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    _ = try clock.waitForExit()
    #expect(try FFmpeg.frameHashes(of: output).count == 20)
  }

  @Test("a decoder that is killed costs a group of pictures, and the run says so")
  func killed() throws {
    let (sender, address) = try CommandTests.server([
      "--speed", "1", "--gop", "10", "--frames", "120",
    ])
    let video = try Scratch.path("yuv")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "-o", video, "--sandbox", "require", "--stats", "-"])
    try waitUntil("a frame is written") {
      let attributes = try? FileManager.default.attributesOfItem(atPath: video)
      return (attributes?[.size] as? Int ?? 0) > 0
    }
    kill(try DecoderProcesses.one(of: receiver.processIdentifier), SIGKILL)
    _ = try receiver.waitForLine(
      #/warning: the decoder's process was lost: it was ended by signal 9; decoding goes on/#)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()

    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["delivery", "decoder_restarts"] == 1)
    #expect(statistics["delivery", "access_units"] == 120)
    // What waited while the next process began was decoded by it, from a key picture on.
    let frames = statistics["delivery", "frames"]
    #expect(frames >= 60)
    #expect(statistics["delivery", "intact"] == frames)
    let lost = ["decoder_lost", "no_random_access_point"].map {
      max(0, statistics["delivery", "decode_failures", $0])
    }
    #expect(frames + lost[0] + lost[1] == 120)
    #expect(receiver.standardError.contains("the decoder's process was replaced once"))
    #expect(!receiver.standardError.contains("the first key picture"))
  }

  @Test("Ctrl-C in a terminal reaches both, and the last pictures are written all the same")
  func interrupted() throws {
    let (sender, address) = try CommandTests.server(["--loop", "forever"])
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", try Scratch.path("yuv"), "--stats", "-"])
    let process = try DecoderProcesses.one(of: receiver.processIdentifier)
    kill(process, SIGINT)
    kill(process, SIGTERM)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(!receiver.standardError.contains("process was lost"), "\(receiver.standardError)")
    #expect(try Statistics(lastLineOf: receiver)["delivery", "decoder_restarts"] == 0)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test(
    "what decodes nothing, or is not to be shut in, has no other process",
    arguments: [["h264", "--codec", "h264"], ["yuv", "--sandbox", "off"]])
  func none(_ arguments: [String]) throws {
    let (sender, address) = try CommandTests.server(["--codec", "h264", "--loop", "forever"])
    let path = try Scratch.path(arguments[0])
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", path] + arguments.dropFirst())
    try waitUntil("something is written") {
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      return (attributes?[.size] as? Int ?? 0) > 0
    }
    #expect(DecoderProcesses.all(of: receiver.processIdentifier, isEnded: true) == [])
    receiver.send(signal: SIGTERM)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }
}
