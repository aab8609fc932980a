import Foundation
import TestSupport
import Testing

/// `rtp-recv` as a person uses it, with `rtp-send` at the far end.
@Suite(.serialized)
struct CommandTests {
  /// A small pattern that takes two seconds, or half of that.
  static let pattern = ["pattern", "--size", "256x144", "--bitrate", "300k", "--speed", "2"]

  /// Starts a sender that waits for a hello; returns it with its address.
  static func server(_ options: [String]) throws -> (RunningProcess, String) {
    let sender = try RunningProcess(
      Product.rtpSend, pattern + ["listen://127.0.0.1:0", "--once"] + options)
    return (sender, String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1))
  }

  /// Starts a receiver that listens; returns it with its port.
  static func listener(
    _ options: [String], port: UInt16 = 0
  ) throws -> (RunningProcess, UInt16) {
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:\(port)"] + options)
    let port = try receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    return (receiver, try #require(UInt16(port)))
  }

  /// Starts a receiver where what `start` sends to a port comes already: --timeout is not for the
  /// start of a sender.
  static func listener(
    _ options: [String], besides start: (UInt16) throws -> RunningProcess
  ) throws -> (receiver: RunningProcess, sender: RunningProcess) {
    let port = try FreePort.udpPair()
    let sender = try start(port)
    try PassingStream.waitForDatagram(on: port)
    return (try listener(options, port: port).0, sender)
  }

  @Test("a server that waits for a hello and says goodbye", arguments: ["h264", "h265"])
  func helloAndGoodbye(codec: String) throws {
    let (sender, address) = try Self.server(["--codec", codec, "--frames", "60"])
    let outputs = try ["y4m", "yuv", codec].map { try Scratch.path($0) }
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["--transport", "udp", address] + outputs.flatMap { ["-o", $0] } + ["--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()

    let hashes = try FFmpeg.frameHashes(of: outputs[0])
    #expect(hashes.count == 60)
    #expect(Set(hashes).count == 60)
    #expect(try FFmpeg.frameHashes(of: outputs[2]) == hashes)
    let raw = ["-f", "rawvideo", "-video_size", "256x144", "-pixel_format", "yuv420p"]
    #expect(try FFmpeg.frameHashes(of: outputs[1], options: raw) == hashes)
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["delivery", "frames"] == 60)
    #expect(statistics["rtp", "lost"] == 0)
    #expect(statistics["transport", "hellos_sent"] >= 1)
  }

  @Test func exactlyAsManyFramesAsAskedFor() throws {
    let (sender, address) = try Self.server([])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", output, "--frames", "17"])
    #expect(try receiver.waitForExit() == 0)
    #expect(try FFmpeg.frameHashes(of: output).count == 17)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func fewerFramesThanAskedForAreNoSuccess() throws {
    let (sender, address) = try Self.server(["--frames", "30"])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", output, "--frames", "300"])
    #expect(try receiver.waitForExit() == 13, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("30 of 300 frames came"))
    #expect(try FFmpeg.frameHashes(of: output).count == 30)
    try sender.waitForExit()
  }

  @Test func aRunThatIsStoppedWhileItConnectsAgainSaysWhatItWaitedFor() throws {
    let port = try FreePort.closed.get()
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtsp://127.0.0.1:\(port)/x", "--reconnect", "--verbose"])
    _ = try receiver.waitForLine(#/connecting again \(attempt 1\)/#)
    receiver.send(signal: SIGINT)
    // That of the refused connection: nothing of what was asked for has been done.
    #expect(try receiver.waitForExit() == 2)
    let last = receiver.standardError.split(separator: "\n").last ?? ""
    #expect(last.contains("refuses the connection"), "\(receiver.standardError)")
    #expect(!last.contains("--reconnect"))
  }

  @Test func aRunThatIsStoppedWhileItConnectsAgainIsDoneWhereMediaCameBefore() throws {
    let port = try FreePort.tcp()
    let sender = try RunningProcess(Product.rtpSend, Self.pattern + ["http://127.0.0.1:\(port)"])
    _ = try sender.waitForLine(#/listening on/#)
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["http://127.0.0.1:\(port)/live", "--reconnect", "-o", output])
    try waitUntil("pictures come") { Scratch.size(of: output) > 0 }
    sender.send(signal: SIGKILL)
    _ = try receiver.waitForLine(#/connecting again/#)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
  }

  @Test(
    "a signal ends the run on a whole frame", arguments: [SIGINT, SIGTERM])
  func signal(_ number: Int32) throws {
    let (sender, address) = try Self.server([])
    let output = try Scratch.path("yuv")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", output])
    // A picture has been decoded then: at the end there is little time for that.
    try waitUntil("a picture is written") { Scratch.size(of: output) > 0 }
    receiver.send(signal: number)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let size = Scratch.size(of: output)
    #expect(size > 0)
    #expect(size.isMultiple(of: 256 * 144 * 3 / 2))
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func aFullDiskEndsThatOutputAndNoOther() throws {
    let (sender, address) = try Self.server(["--frames", "60"])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", "/dev/full", "-o", output, "--format", "y4m"])
    #expect(try receiver.waitForExit() == 6)
    #expect(receiver.standardError.contains("/dev/full"))
    #expect(try FFmpeg.frameHashes(of: output).count == 60)
    try sender.waitForExit()
  }

  @Test("--format is for names that say none", arguments: [[], ["--format", "y4m"]])
  func formatOfWhatSaysNone(options: [String]) throws {
    let (sender, address) = try Self.server(["--frames", "60"])
    let recording = try Scratch.path("mp4")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", recording, "-o", "-"] + options)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(receiver.standardOutput.starts(with: Data("YUV4MPEG2 ".utf8)))
    let start = try #require(FileHandle(forReadingAtPath: recording)).readData(ofLength: 8)
    #expect(start.suffix(4) == Data("ftyp".utf8))
    #expect(try FFmpeg.frameHashes(of: recording).count == 60)
  }

  @Test("the summary says that the size changed, and what it was at last")
  func sizes() throws {
    let plan = try Scratch.path("plan")
    try "1 size 320x180\n".write(toFile: plan, atomically: true, encoding: .utf8)
    let (sender, address) = try Self.server(["--frames", "120", "--plan", plan])
    let receiver = try RunningProcess(Product.rtpRecv, ["udp://\(address)"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(
      receiver.standardError.contains("120 frames of 2 sizes, at last 320x180"),
      "\(receiver.standardError)")
    try sender.waitForExit()
  }

  @Test("times and sizes of the command line have units, and plain seconds where they had them")
  func units() throws {
    let (sender, address) = try Self.server([])
    let statistics = try Scratch.path("jsonl")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "--duration", "1s", "--timeout", "1m", "--stats", statistics]
        + ["--stats-size", "64KiB"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("frames"), "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test("a stream that ends before its time says why", arguments: [[], ["--quiet"]])
  func tooShort(options: [String]) throws {
    let (sender, address) = try Self.server(["--frames", "30"])
    let capture = try Scratch.path("pcapng")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--duration", "20", "--capture", capture] + options)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let words = "the sender said goodbye before the 20 s of --duration were over"
    #expect(receiver.standardError.contains(words) == options.isEmpty, "\(receiver.standardError)")
    let player = try RunningProcess(Product.rtpRecv, [capture, "--frames", "40"] + options)
    #expect(try player.waitForExit() == 13, "\(player.standardError)")
    #expect(player.standardError.contains("30 of 40 frames came; the recording ended"))
  }

  @Test func aFolderThatIsMissingIsSaidToBe() throws {
    let (sender, address) = try Self.server(["--frames", "60"])
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "-o", "/nowhere/a/x.mp4", "-o", "/nowhere/a/x.y4m"])
    #expect(try receiver.waitForExit() == 6)
    #expect(
      receiver.standardError.contains("x.mp4 cannot be opened: there is no folder /nowhere/a"),
      "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func aRunThatReceivesNothingLeavesAnOldFileAlone() throws {
    let output = try Scratch.path("y4m")
    try Data("precious".utf8).write(to: URL(fileURLWithPath: output))
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--timeout", "0.5", "-o", output])
    #expect(try receiver.waitForExit() == 4)
    #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == Data("precious".utf8))

    let (sender, address) = try Self.server(["--frames", "30"])
    let second = try RunningProcess(Product.rtpRecv, ["udp://\(address)", "-o", output])
    #expect(try second.waitForExit() == 0)
    #expect(try FFmpeg.frameHashes(of: output).count == 30)
    try sender.waitForExit()
  }

  @Test("statistics that cannot be written cost no frame, and are said to be lost")
  func statisticsThatNobodyTakes() throws {
    for (target, status) in [("/dev/full", 6), ("fd:1", 6)] {
      let (sender, address) = try Self.server(["--frames", "30"])
      let output = try Scratch.path("y4m")
      // A full pipe that is not read.
      let launcher = """
        import os, subprocess, sys
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while True: os.write(writer, b'x' * 4096)
        except BlockingIOError: pass
        os.set_blocking(writer, True)
        sys.exit(subprocess.run(sys.argv[1:], stdout=writer).returncode)
        """
      let receiver = try RunningProcess(
        "python3",
        ["-c", launcher, Product.rtpRecv, "udp://\(address)", "-o", output, "--stats", target])
      #expect(Int(try receiver.waitForExit()) == status, "\(receiver.standardError)")
      #expect(receiver.standardError.contains("--stats \(target)"), "\(receiver.standardError)")
      #expect(try FFmpeg.frameHashes(of: output).count == 30)
      try sender.waitForExit()
    }
  }

  @Test func standardOutputIsForOneThing() throws {
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "-o", "-", "--format", "yuv", "--stats", "-"])
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains("standard output"))
  }

  @Test func aReaderThatGoesAwayEndsTheRun() throws {
    let (sender, address) = try Self.server([])
    let shell = try RunningProcess(
      "bash",
      [
        "-c",
        "'\(Product.rtpRecv)' udp://\(address) -o - | head -c 200000 | wc -c; echo ${PIPESTATUS[0]}",
      ])
    try shell.waitForExit()
    let lines = String(decoding: shell.standardOutput, as: UTF8.self).split(separator: "\n")
    #expect(lines == ["200000", "7"], "\(shell.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func whatAReaderThatTakesNothingMissesIsNamedAfterWhatTheOutputHolds() throws {
    let path = try Scratch.path("h264")
    try #require(mkfifo(path, 0o600) == 0)
    // It holds the pipe open, and reads nothing of it.
    let reader = try RunningProcess("bash", ["-c", "exec sleep 120 < \(path)"])
    let sender = try RunningProcess(
      Product.rtpSend,
      [Clip.h264.get().path, "listen://127.0.0.1:0", "--once"]
        + ["--fps", "100", "--loop", "20", "--speed", "16"])
    let address = try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1
    let receiver = try RunningProcess(Product.rtpRecv, ["udp://\(address)", "-o", path])
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    withExtendedLifetime(reader) {}
    #expect(
      receiver.standardError.contains(#/is too slow: \d+ access units dropped/#),
      "\(receiver.standardError)")
    try sender.waitForExit()
  }

  @Test func aNamedPipeThatNobodyReadsYetIsNamedWhileTheRunGoesOn() throws {
    let path = try Scratch.path("yuv")
    try #require(mkfifo(path, 0o600) == 0)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "-o", path, "--timeout", "60"])
    #expect(try receiver.waitForLine(#/waiting for a reader of (\S+)/#).1 == path)
    // It comes after all.
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    try #require(reader >= 0)
    defer { close(reader) }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(receiver.standardError.matches(of: #/waiting for a reader/#).count == 1)
  }

  @Test("a path that looks like a login or a password is taken as typed")
  func pathsLikeLogins() throws {
    let (sender, address) = try Self.server(["--frames", "5"])
    let output = try Scratch.path("10:15@door.y4m")
    let capture = try Scratch.path("10:15@door.pcapng")
    let statistics = try Scratch.path("door?password=none.jsonl")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "-o", output, "--capture", capture, "--stats", statistics])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    for path in [output, capture, statistics] {
      #expect(FileManager.default.fileExists(atPath: path), "\(path)")
    }
    try sender.waitForExit()
  }

  @Test func nothingComesWithinTheTimeout() throws {
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--timeout", "0.5"])
    #expect(try receiver.waitForExit() == 4)
    #expect(receiver.standardError.contains("no media within 0.5 s"))
  }

  @Test(
    "a source that makes no sense is said to",
    arguments: [
      ("rtmp://127.0.0.1/x", "known scheme"), ("srt://127.0.0.1:1", "here rtp://:5004"),
      ("rtspt://127.0.0.1/x", "rtsp:// with --rtsp-transport tcp"),
      ("file:///a.pcapng", "its path alone"), ("srtp://127.0.0.1:1", "--srtp-key-file"),
      ("udp://127.0.0.1", "port is missing"),
      ("udp://127.0.0.1:99999", "not a port"), ("nonsense", "--transport"),
    ])
  func wrongSource(source: String, hint: String) throws {
    let receiver = try RunningProcess(Product.rtpRecv, [source])
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains(hint), "\(receiver.standardError)")
  }

  @Test("parameter sets that come in the SDP alone", arguments: ["h264", "h265"])
  func parameterSetsOutOfBand(codec: String) throws {
    let description = try Scratch.path("sdp")
    let output = try Scratch.path("y4m")
    let (receiver, port) = try Self.listener(
      ["-o", output, "--codec", codec, "--payload-type", "96", "--timeout", "20"])
    // Told only afterwards, below; this receiver shows that nothing decodes without the sets.
    let blind = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(port)", "--codec", codec, "--frames", "30"]
        + ["--strip-parameter-sets", "--sdp", description])
    try blind.waitForExit()
    #expect(try receiver.waitForExit() == 4)
    #expect(receiver.standardError.contains("no parameter sets"), "\(receiver.standardError)")
    #expect(!FileManager.default.fileExists(atPath: output))

    let (informed, secondPort) = try Self.listener(
      ["-o", output, "--sdp", description, "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(secondPort)", "--codec", codec, "--frames", "30"]
        + ["--strip-parameter-sets"])
    try sender.waitForExit()
    #expect(try informed.waitForExit() == 0)
    #expect(try FFmpeg.frameHashes(of: output).count == 30)

    // What comes through a pipe can be read only once.
    let again = try Scratch.path("y4m")
    let piped = try RunningProcess(
      "bash",
      [
        "-c",
        "'\(Product.rtpRecv)' rtp://127.0.0.1:0 -o \(again) --timeout 20 --sdp <(cat \(description))",
      ])
    let thirdPort = try piped.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let third = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(thirdPort)", "--codec", codec, "--frames", "30"]
        + ["--strip-parameter-sets"])
    try third.waitForExit()
    #expect(try piped.waitForExit() == 0, "\(piped.standardError)")
    #expect(try FFmpeg.frameHashes(of: again).count == 30)
  }

  @Test("no parameter sets, and a sender that stops without a goodbye", arguments: ["y4m", "h264"])
  func parameterSetsThatNeverCome(ending: String) throws {
    let output = try Scratch.path(ending)
    // Pictures are missing after the silence; an elementary stream is written, and warned of.
    let isElementary = ending == "h264"
    // The stream is there before the receiver, so that --timeout is for its end alone.
    let port = try FreePort.udpPair()
    let sender = try RunningProcess(
      Product.rtpSend, Self.pattern + ["udp://127.0.0.1:\(port)", "--strip-parameter-sets"])
    try PassingStream.waitForDatagram(on: port)
    // The journal is told how much a line matters.
    let receiver = try RunningProcess(
      "bash",
      [
        "-c", #"JOURNAL_STREAM=$(stat -L -c %d:%i /proc/$$/fd/2) exec "$0" "$@""#,
        Product.rtpRecv, "rtp://127.0.0.1:\(port)", "-o", output, "--codec", "h264",
        "--payload-type", "96", "--timeout", "3", "--stats", "-",
      ])
    // More packets than there are between two key pictures.
    _ = try receiver.waitForLine(#/"delivered":\d{3}/#)
    // Who is killed says no goodbye.
    sender.send(signal: isElementary ? SIGTERM : SIGKILL)
    #expect(try receiver.waitForExit() == (isElementary ? 0 : 4), "\(receiver.standardError)")
    #expect(receiver.standardError.contains("no parameter sets"), "\(receiver.standardError)")
    #expect(receiver.standardError.contains("--sdp"), "\(receiver.standardError)")
    let start = isElementary ? "<4>rtp-recv: warning: " : "<3>rtp-recv: "
    let words = start + "key pictures came, but no parameter sets"
    #expect(receiver.standardError.contains(words), "\(receiver.standardError)")
    let warns = receiver.standardError.contains("no player can decode")
    #expect(warns == isElementary, "\(receiver.standardError)")
  }

  @Test("parameter sets in the description alone are asked for while pictures come")
  func parameterSetsThatAreNotInTheStream() throws {
    let output = try Scratch.path("mp4")
    let (receiver, port) = try Self.listener(["-o", output])
    let sender = try RunningProcess(
      Product.rtpSend, Self.pattern + ["udp://127.0.0.1:\(port)", "--strip-parameter-sets"])
    _ = try receiver.waitForLine(
      #/warning: key pictures came, but no parameter sets of H264, .* with --sdp/#)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    let said = receiver.standardError
    #expect(said.contains("none of them with parameter sets"), "\(said)")
    #expect(!said.contains("--feedback pli") && !said.contains("first key picture"), "\(said)")
    #expect(!FileManager.default.fileExists(atPath: output))
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test func whatTheNetworkLosesIsCountedToThePacket() throws {
    let (receiver, port) = try Self.listener(
      ["--stats", "-", "--timeout", "20", "--reorder-window", "2000"])
    let sender = try RunningProcess(
      Product.rtpSend,
      Self.pattern + ["udp://127.0.0.1:\(port)", "--frames", "120", "--no-rtcp", "--stats", "-"]
        + ["--packet-size", "300", "--loss", "0.05", "--reorder", "0.05,5", "--duplicate", "0.02"]
        + ["--seed", "11", "--ssrc", "\(Goodbye.source)"])
    try sender.waitForExit()
    try Goodbye.say(toPortAbove: port)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let sent = try Statistics(lastLineOf: sender)
    let received = try Statistics(lastLineOf: receiver)
    #expect(received["rtp", "lost"] > 0)
    #expect(received["rtp", "lost"] == sent["lost"])
    #expect(received["rtp", "duplicate"] == sent["duplicated"])
    #expect(received["rtp", "late"] == 0)
  }

  @Test func aNewPictureSizeGoesIntoANewFile() throws {
    let clip = try Self.clipThatChangesSize()
    let output = try Scratch.path("y4m")
    let (receiver, port) = try Self.listener(["-o", output])
    let sender = try RunningProcess(
      Product.rtpSend, [clip, "udp://127.0.0.1:\(port)", "--speed", "4"])
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 0)
    #expect(try FFmpeg.frameHashes(of: output).count == 30)
    let second = output.replacing(".y4m", with: ".0001.y4m")
    #expect(try FFmpeg.frameHashes(of: second).count == 30)
    #expect(receiver.standardError.contains("what follows is in \(second)"))
  }

  @Test("a new picture size ends a pipe unless it is scaled", arguments: [false, true])
  func aNewPictureSizeInAPipe(isScaled: Bool) throws {
    let clip = try Self.clipThatChangesSize()
    let (receiver, port) = try Self.listener(
      ["-o", "-", "--format", "yuv"] + (isScaled ? ["--scale-to-first"] : []))
    let sender = try RunningProcess(
      Product.rtpSend, [clip, "udp://127.0.0.1:\(port)", "--speed", "4"])
    #expect(try receiver.waitForExit() == (isScaled ? 0 : 8), "\(receiver.standardError)")
    try sender.waitForExit()
    let frame = 320 * 240 * 3 / 2
    #expect(receiver.standardOutput.count == frame * (isScaled ? 60 : 30))
  }

  /// Thirty frames of 320x240 and thirty of 160x120 in one elementary stream.
  static func clipThatChangesSize() throws -> String {
    var stream = Data()
    for size in ["320x240", "160x120"] {
      let path = try Scratch.path("h264")
      let encode = try RunningProcess(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-frames:v", "30"]
          + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-bf", "0", path])
      try encode.waitForExit()
      stream.append(try Data(contentsOf: URL(fileURLWithPath: path)))
    }
    let path = try Scratch.path("h264")
    try stream.write(to: URL(fileURLWithPath: path))
    return path
  }
}
