import Foundation
import TestSupport
import Testing

/// Streams through a network that loses packets in front of a sender that answers.
@Suite(.serialized)
struct RepairTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var codec: Clip.Codec
    var isInOwnStream = false
    var isInOwnSession = false
    var isProtected = false
    var isDescribed = false

    /// What both ends are told, unless by an SDP file.
    var options: [String] {
      ["--feedback", "nack,pli"]
        + (isInOwnStream ? ["--retransmission-payload-type", "98"] : [])
    }

    /// What only the sender is told.
    var sending: [String] {
      options + (isInOwnSession ? ["--retransmission-session"] : [])
    }

    var testDescription: String {
      "\(codec.rawValue), \(isInOwnStream ? "in a stream of their own" : "as they were")"
        + (isInOwnSession ? " and a session" : "")
        + (isProtected ? ", SRTP" : "") + (isDescribed ? ", SDP" : "")
    }
  }

  /// A machine that is busy with other things may keep either end from its work for a while.
  static let patience = ["--reorder-window", "3000"]

  static let cases = [
    Case(codec: .h264), Case(codec: .h265, isProtected: true),
    Case(codec: .h264, isInOwnStream: true, isProtected: true, isDescribed: true),
    Case(codec: .h264, isInOwnStream: true, isInOwnSession: true),
    Case(codec: .h265, isInOwnStream: true, isInOwnSession: true, isDescribed: true),
  ]

  @Test("what rtp-send sends again makes the stream exact at 5 % loss", arguments: cases)
  func sender(_ test: Case) throws {
    let clip = try Clip.of(test.codec)
    let output = try Scratch.path("y4m")
    let description = try Scratch.path("sdp")
    var key: [String] = []
    if test.isProtected {
      let file = try Scratch.path("key")
      let text = "AES_CM_128_HMAC_SHA1_80 " + Data(0..<30).base64EncodedString()
      _ = FileManager.default.createFile(
        atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
      key = ["--srtp-key-file", file]
    }
    let common =
      ["-o", output, "--frames", "\(clip.frames)", "--stats", "-", "--timeout", "20"]
      + Self.patience
    // The sender goes on, without losses, so that a receiver that is late finds it there.
    let plan = try Scratch.path("plan")
    try "0-1.5 loss 5%".write(toFile: plan, atomically: true, encoding: .utf8)
    let sending =
      ["--packet-size", "300", "--plan", plan, "--seed", "2", "--speed", "2", "--loop", "forever"]
      + test.sending + key
    let receiver: RunningProcess
    let sender: RunningProcess
    if test.isDescribed {
      // The description is needed before the first packet, but the receiver starts only afterwards,
      // so the address uses a port that was free a moment ago.
      let port = try FreePort.udpPair()
      let writer = try RunningProcess(
        Product.rtpSend,
        [clip.container, "udp://127.0.0.1:\(port)", "--sdp", description, "--frames", "1"]
          + sending)
      #expect(try writer.waitForExit() == 0, "\(writer.standardError)")
      receiver = try RunningProcess(Product.rtpRecv, [description] + common + key)
      _ = try receiver.waitForLine(#/listening on/#)
      sender = try RunningProcess(
        Product.rtpSend, [clip.container, "udp://127.0.0.1:\(port)"] + sending)
    } else {
      let own: UInt16 = test.isInOwnSession ? try FreePort.udpPair() : 0
      let apart = test.isInOwnSession ? ["--retransmission-port", "\(own + 2)"] : []
      let (process, port) = try CommandTests.listener(
        common + test.options + apart + key, port: own)
      receiver = process
      sender = try RunningProcess(
        Product.rtpSend, [clip.container, "udp://127.0.0.1:\(port)"] + sending)
    }
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")

    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["rtp", "repair", "arrived"] > 20)
    #expect(statistics["rtp", "repaired"] > 20)
    // Where the sender stands still for a moment, the next packet is asked for before it is sent.
    // It comes itself then, and so does the answer.
    #expect(
      statistics["rtp", "repaired"] + statistics["rtp", "reordered"]
        <= statistics["rtp", "repair", "requested"])
    let intervals = try Statistics.lines(of: receiver)
    let arrived = intervals.reduce(0) { $0 + $1["interval", "repair_arrived"] }
    #expect(arrived == statistics["rtp", "repair", "arrived"])
    let repaired = intervals.reduce(0) { $0 + $1["interval", "repaired"] }
    #expect(repaired == statistics["rtp", "repaired"])
    #expect((statistics["rtp", "retransmission"] > 0) == test.isInOwnStream)
    #expect(sender.standardError.contains("packets asked for were sent again"))
  }

  /// Nothing comes behind it, so that it is asked for by time.
  @Test("the last packet of a stream is sent again", arguments: [false, true])
  func lastPacket(isInOwnStream: Bool) throws {
    let clip = try Clip.of(.h264)
    let options =
      ["--feedback", "nack"] + (isInOwnStream ? ["--retransmission-payload-type", "98"] : [])
    func receive() throws -> (status: Int32, receiver: RunningProcess, output: String) {
      let output = try Scratch.path("y4m")
      let (receiver, port) = try CommandTests.listener(
        ["-o", output, "--frames", "50", "--stats", "-", "--timeout", "20"]
          + Self.patience + options)
      // With this seed the last packet is among those that are lost. The pictures come slowly
      // enough that the ends of others are asked for too before the next one comes.
      let sender = try RunningProcess(
        Product.rtpSend,
        [clip.container, "udp://127.0.0.1:\(port)", "--packet-size", "100", "--frames", "50"]
          + ["--speed", "0.25", "--loss", "0.1", "--seed", "9"] + options)
      let status = try receiver.waitForExit()
      #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
      return (status, receiver, output)
    }
    var (status, receiver, output) = try receive()
    // The sender is there for another second, in which a busy machine may not run the receiver.
    for _ in 1..<2 where status != 0 { (status, receiver, output) = try receive() }
    #expect(status == 0, "\(receiver.standardError)")
    // The first in decoding order, which are not the first that are shown.
    let frames = Set(try FFmpeg.frameHashes(of: output))
    #expect(frames.count == 50 && frames.isSubset(of: clip.hashes))
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "repair", "tail_requests"] > 0)
    #expect(statistics["rtp", "lost"] == 0)
  }

  /// Frames at the end that are not checked: GStreamer says goodbye after its last packet, so
  /// nobody can request packets any more.
  private static let tail = 20

  @Test("what GStreamer's server sends again makes the stream exact at 5 % loss")
  func gstreamerServer() throws {
    let clip = try Clip.h264.get()
    let server = try GStreamerServer(
      clip, ["--feedback", "--retransmission", "10000", "--loss", "0.05", "--seed", "3"])
    let (receiver, output) = try RTSPServerTests.receive(
      server.url(),
      ["--rtsp-transport", "udp", "--frames", "\(clip.frames - Self.tail)"] + Self.patience)
    try Self.expectExact(clip, output, receiver)
    #expect(try Statistics(lastLineOf: receiver)["rtp", "retransmission"] > 5)
  }

  @Test(
    "what GStreamer sends again over plain RTP makes the stream exact at 5 % loss",
    arguments: [
      (Clip.Codec.h265, []), (.h264, ["--retransmission-payload-type", "98"]),
      (.h265, ["--retransmission-payload-type", "98", "--retransmission-port"]),
    ])
  func gstreamerSender(codec: Clip.Codec, retransmission: [String]) throws {
    var retransmission = retransmission
    var own: UInt16 = 0
    if retransmission.last == "--retransmission-port" {
      own = try FreePort.udpPair()
      retransmission.append("\(own + 2)")
    }
    let clip = try Clip.of(codec)
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener(
      ["-o", output, "--frames", "\(clip.frames - Self.tail)", "--stats", "-", "--timeout", "20"]
        + ["--feedback", "nack"] + retransmission + Self.patience, port: own)
    let script = Bundle.module.resourceURL?
      .appendingPathComponent("Servers/gstreamer-rtp-sender.py").path
    let sender = try RunningProcess(
      "/usr/bin/python3",
      [script ?? "", clip.container, codec.rawValue, "\(port)", "--loss", "0.05", "--seed", "3"]
        + retransmission)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    try Self.expectExact(clip, output, receiver)
  }

  private static func expectExact(
    _ clip: Clip, _ output: String, _ receiver: RunningProcess
  ) throws {
    #expect(
      try FFmpeg.frameHashes(of: output) == Array(clip.hashes.prefix(clip.frames - tail)))
    let statistics = try Statistics(lastLineOf: receiver)
    // Also counts what was still being requested after the last frame: a picture or two.
    #expect(statistics["rtp", "lost"] < tail)
    #expect(statistics["rtp", "repair", "arrived"] > 5)
  }

  /// By itself the pattern has a single key picture.
  @Test("a live sender that is asked for a key picture", arguments: ["pli", "fir"])
  func keyPicture(request: String) throws {
    let output = try Scratch.path("h264")
    let began = ContinuousClock.now
    let (receiver, port) = try CommandTests.listener([
      "-o", output, "--stats", "-", "--timeout", "20", "--feedback", request,
    ])
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "udp://127.0.0.1:\(port)", "--size", "256x144", "--gop", "300", "--seed", "3"]
        + ["--loss", "0.1", "--speed", "2", "--feedback", request])
    func keyPictures() -> Int {
      let bytes = [UInt8]((try? Data(contentsOf: URL(fileURLWithPath: output))) ?? Data())
      return bytes.indices.dropLast(3).count { bytes[$0..<$0 + 4] == [0, 0, 1, 0x65] }
    }
    try waitUntil("a second key picture") { keyPictures() >= 2 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    let statistics = try Statistics(lastLineOf: receiver)
    // The answer may be lost too, but nobody is asked more often than twice a second.
    let most = 1 + Int(began.duration(to: .now) / .milliseconds(500))
    #expect((1...most).contains(statistics["rtp", "repair", request]))
    #expect(statistics["rtp", "repair", "requested"] == 0)
    #expect(sender.standardError.contains("key pictures asked for"))
  }

  @Test(
    "a session of retransmissions that cannot be had is said before anything is opened",
    arguments: [
      (["udp://127.0.0.1:9"], "ports of their own"),
      (["rtsp://127.0.0.1:9/x"], "ports of their own"),
      (["rtp://127.0.0.1:0", "--srtp-key-file", "KEY"], "a key of their own"),
    ])
  func noSession(arguments: [String], reason: String) throws {
    let file = try Scratch.path("key")
    let text = "AES_CM_128_HMAC_SHA1_80 " + Data(0..<30).base64EncodedString()
    _ = FileManager.default.createFile(
      atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    let receiver = try RunningProcess(
      Product.rtpRecv,
      arguments.map { $0 == "KEY" ? file : $0 } + ["--retransmission-port", "5006"])
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains(reason))
  }

  @Test(
    "what does not go together is said before anything is opened",
    arguments: [
      ["--feedback", "ack"], ["--feedback", ""], ["--feedback", "nack,"],
      ["--retransmission-payload-type", "128"],
      ["--retransmission-payload-type", "96", "--payload-type", "96"],
      ["--retransmission-payload-type", "97", "--fec", "ulpfec:97"],
      ["--retransmission-port", "0"], ["--retransmission-port", "65536"],
    ])
  func mistakes(options: [String]) throws {
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0"] + options)
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains(options[0]))
  }
}
