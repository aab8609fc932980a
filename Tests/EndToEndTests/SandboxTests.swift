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

  @Test("a machine that stands still for a while costs no decoder")
  func standstill() throws {
    let (sender, address) = try CommandTests.server(["--loop", "forever"])
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", try Scratch.path("yuv"), "--stats", "-"])
    _ = try receiver.waitForLine(#/"frames":[1-9]/#)
    let process = try DecoderProcesses.one(of: receiver.processIdentifier)
    // The decoder is asked for the next picture, and all stands still for longer than it may take.
    // A program that starts no other is seldom late between the two.
    let standstill = """
      import os, signal, time
      os.kill(\(process), signal.SIGSTOP)
      time.sleep(0.1)
      os.kill(\(receiver.processIdentifier), signal.SIGSTOP)
      time.sleep(2.5)
      os.kill(\(receiver.processIdentifier), signal.SIGCONT)
      os.kill(\(process), signal.SIGCONT)
      """
    let clock = try RunningProcess("python3", ["-c", standstill])
    #expect(try clock.waitForExit() == 0)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try Statistics(lastLineOf: receiver)["delivery", "decoder_restarts"] == 0)
  }

  @Test("a decoder that is killed costs a group of pictures, and the run says so")
  func killed() throws {
    let (sender, address) = try CommandTests.server([
      "--speed", "1", "--gop", "10", "--loop", "forever",
    ])
    let video = try Scratch.path("yuv")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "-o", video, "--sandbox", "require", "--stats", "-"])
    func frames() -> Int { Scratch.size(of: video) / (256 * 144 * 3 / 2) }
    try waitUntil("a frame is written") { frames() > 0 }
    kill(try DecoderProcesses.one(of: receiver.processIdentifier), SIGKILL)
    _ = try receiver.waitForLine(
      #/warning: the decoder's process was lost: it was ended by signal 9; decoding goes on/#)
    // What waited while the next process began was decoded by it, from a key picture on.
    let before = frames()
    try waitUntil("the next one decodes") { frames() >= before + 60 }
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")

    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["delivery", "decoder_restarts"] == 1)
    #expect(statistics["delivery", "intact"] == statistics["delivery", "frames"])
    let lost = ["decoder_lost", "no_random_access_point"].map {
      max(0, statistics["delivery", "decode_failures", $0])
    }
    // Most of what came was decoded: a process is there again within a second.
    #expect(lost[0] + lost[1] <= 60)
    #expect(
      statistics["delivery", "frames"] + lost[0] + lost[1]
        == statistics["delivery", "access_units"])
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
    try waitUntil("something is written") { Scratch.size(of: path) > 0 }
    #expect(DecoderProcesses.all(of: receiver.processIdentifier, isEnded: true) == [])
    receiver.send(signal: SIGTERM)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }
}
