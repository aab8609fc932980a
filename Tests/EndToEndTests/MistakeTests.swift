import Foundation
import TestSupport
import Testing

/// Users' mistakes are explained, destroy nothing, and have separate exit statuses.
@Suite(.serialized)
struct MistakeTests {
  /// A recording of a pattern, as `rtp-send` serves it.
  private static let recording = Result { try record([]) }

  private static func record(_ options: [String]) throws -> String {
    let server = try SendingServer(
      "pattern", ["--fast", "--frames", "30", "--size", "256x144", "--bitrate", "300k"] + options)
    return try server.save()
  }

  private func run(
    _ arguments: [String], input: String? = nil
  ) throws -> (status: Int32, words: String) {
    let file = input.flatMap { FileHandle(forReadingAtPath: $0) }
    let process = try RunningProcess(Product.rtpRecv, arguments, input: file)
    let status = try process.waitForExit()
    return (status, process.standardError)
  }

  private func key(_ bytes: UInt8) throws -> String {
    let path = try Scratch.path("key")
    let text = "AES_CM_128_HMAC_SHA1_80 " + Data(repeating: bytes, count: 30).base64EncodedString()
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
    return path
  }

  @Test func aRecordingUnderAnotherKeyIsNoSuccess() throws {
    let recording = try Self.record(["--srtp-key-file", key(1)])
    let output = try Scratch.path("h264")
    let (wrong, words) = try run([recording, "--srtp-key-file", key(2), "-o", output])
    #expect(wrong == 10, "\(words)")
    #expect(words.contains("could not be authenticated"))
    let (missing, hint) = try run([recording, "-o", output])
    #expect(missing == 9, "\(hint)")
    #expect(hint.contains("--srtp-key-file"))
    let (right, _) = try run([recording, "--srtp-key-file", key(1), "-o", output])
    #expect(right == 0)
    let (plain, advice) = try run([Self.recording.get(), "--srtp-key-file", key(1), "-o", output])
    #expect(plain == 10, "\(advice)")
    #expect(advice.contains("not encrypted"), "\(advice)")
  }

  /// Ciphertext is no stream of the codec that was said, though an elementary stream takes all of
  /// it.
  @Test func aRecordingOfCiphertextIsNoSuccess() throws {
    let recording = try Self.record(["--srtp-key-file", key(1), "--packet-size", "300"])
    let output = try Scratch.path("h264")
    let (status, words) = try run([recording, "--codec", "h264", "-o", output])
    #expect(status == 9, "\(words)")
    #expect(words.contains("encrypted") && words.contains("--srtp-key-file"), "\(words)")
  }

  /// What FFmpeg sends, and what its payload type stands for: live, and in a capture.
  private static let fixedTypes = [
    (
      "testsrc -c:v mjpeg -huffman default -pix_fmt yuvj420p -f rtp", "26 (JPEG video)",
      "26 (JPEG video)"
    ),
    ("testsrc -c:v mpeg2video -f rtp_mpegts", "33 (MPEG-TS video)", "33 (MPEG-TS video)"),
    ("sine -ar 8000 -c:a pcm_mulaw -f rtp", "0 (PCMU sound)", "audio (PCMU)"),
    ("sine -ar 8000 -c:a pcm_alaw -f rtp", "8 (PCMA sound)", "audio (PCMA)"),
  ]

  @Test("a payload type with a fixed meaning is named", arguments: fixedTypes)
  func fixedType(media: String, live: String, recorded: String) throws {
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener(
      ["--capture", capture, "-o", Scratch.path("y4m")])
    let sender = try RunningProcess(
      "ffmpeg",
      "-v error -re -f lavfi -i \(media) rtp://127.0.0.1:\(port)".split(separator: " ")
        .map(String.init))
    #expect(try receiver.waitForExit() == 9)
    withExtendedLifetime(sender) {}
    #expect(receiver.standardError.contains(live), "\(receiver.standardError)")
    if live.contains("video") {
      let remedy = live.contains("MPEG-TS") ? "not rtp_mpegts" : "have the sender code H264, H265"
      #expect(receiver.standardError.contains(remedy), "\(receiver.standardError)")
    }
    let (status, said) = try run([capture, "-o", Scratch.path("y4m")])
    #expect(status == 9, "\(said)")
    #expect(said.contains(recorded), "\(said)")
  }

  @Test(
    "a description of a codec that is not known is named",
    arguments: [("video", "96\r\na=rtpmap:96 MP4V-ES/90000", "MP4V-ES"), ("audio", "0", "PCMU")])
  func describedUnknown(kind: String, type: String, name: String) throws {
    let description = try Scratch.path("sdp")
    try """
    v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r
    m=\(kind) 5006 RTP/AVP \(type)\r

    """.write(toFile: description, atomically: true, encoding: .utf8)
    let (status, said) = try run(
      ["rtp://127.0.0.1:0", "--sdp", description, "-o", Scratch.path("y4m")])
    #expect(status == 9, "\(said)")
    #expect(said.contains("\(description): \(name) is not a video format known here"), "\(said)")
  }

  @Test(
    "a description beside a port does not bring the sound",
    arguments: [("mp4", true), ("y4m", false)])
  func soundElsewhere(ending: String, isSaid: Bool) throws {
    let description = try Scratch.path("sdp")
    try """
    v=0
    m=video 5206 RTP/AVP 96
    a=rtpmap:96 H264/90000
    m=audio 5208 RTP/AVP 0

    """.write(toFile: description, atomically: true, encoding: .utf8)
    let (status, said) = try run(
      ["rtp://127.0.0.1:0", "--sdp", description, "--timeout", "0.5", "-o", Scratch.path(ending)])
    #expect(status == 4, "\(said)")
    #expect(said.contains("comes to port 5208, where nothing listens") == isSaid, "\(said)")
  }

  /// Media may be received perfectly and still be useless for pictures.
  @Test(arguments: [
    (["--codec", "h265"], "what comes is H264, and not H265 as --codec says; leave --codec out"),
    (["--frames", "3", "--on-loss", "skip", "--payload-type", "96"], nil),
  ])
  func aRunThatWroteNothingIsNoSuccess(options: [String], words: String?) throws {
    let output = try Scratch.path("y4m")
    let (status, said) = try run([Self.recording.get(), "-o", output] + options)
    #expect(status == (words == nil ? 0 : 9), "\(said)")
    #expect(said.contains(words ?? "3 frames"), "\(said)")
    #expect(FileManager.default.fileExists(atPath: output) == (words == nil))
  }

  @Test func theWrongCodecIsNoSuccessWithoutAnOutputEither() throws {
    let (status, said) = try run([Self.recording.get(), "--codec", "h265"])
    #expect(status == 9, "\(said)")
    #expect(said.contains("leave --codec out"), "\(said)")
  }

  @Test("the wrong payload type is named", arguments: [[], ["--codec", "h264"]])
  func wrongPayloadType(options: [String]) throws {
    let (receiver, sender) = try CommandTests.listener(
      ["--payload-type", "97", "--timeout", "2"] + options
    ) {
      try RunningProcess(Product.rtpSend, CommandTests.pattern + ["udp://127.0.0.1:\($0)"])
    }
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    let words = receiver.standardError
    #expect(words.contains("payload type 96") && words.contains("--payload-type"), "\(words)")
    #expect(!words.contains("encrypted"), "\(words)")
  }

  @Test(
    "a description that names another payload type than comes is named",
    arguments: [([], 9), (["--timeout", "2"], 4)] as [([String], Int32)])
  func describedPayloadType(options: [String], status: Int32) throws {
    let description = try Scratch.path("sdp")
    try "v=0\nm=video 5004 RTP/AVP 97\na=rtpmap:97 H264/90000\n".write(
      toFile: description, atomically: true, encoding: .utf8)
    let (receiver, sender) = try CommandTests.listener(["--sdp", description] + options) {
      try RunningProcess(Product.rtpSend, CommandTests.pattern + ["udp://127.0.0.1:\($0)"])
    }
    #expect(try receiver.waitForExit(within: 30) == status, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    let words = receiver.standardError
    #expect(
      words.contains(
        "packets have payload type 96, the session description names 97 for H264; "
          + "--payload-type 96 overrules it"), "\(words)")
    #expect(!words.contains("nothing lost") && !words.contains("encrypted"), "\(words)")
    try sender.waitForExit()
  }

  @Test("sound alone is no success where pictures were wanted and their payload type is wrong")
  func wrongPayloadTypeBesideSound() throws {
    let server = try RunningProcess(
      Product.rtpSend, CommandTests.pattern + ["--audio", "pcmu", "rtsp://127.0.0.1:0/cam"])
    let port = try server.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let (status, said) = try run(
      ["rtsp://127.0.0.1:\(port)/cam", "--rtsp-transport", "tcp", "--payload-type", "33"]
        + ["-o", Scratch.path("mkv"), "--duration", "1.5"])
    withExtendedLifetime(server) {}
    #expect(status == 4, "\(said)")
    #expect(said.contains("try --payload-type 96"), "\(said)")
  }

  @Test(
    "times are taken with and without their units",
    arguments: [
      ("20", nil), ("20ms", nil), ("0.5s", nil), ("20x", "such as 200ms or 0.2s"),
      ("6s", "0 to 5000 ms"), ("-1", "0 to 5000 ms"),
    ])
  func units(time: String, words: String?) throws {
    let (status, said) = try run([Self.recording.get(), "--reorder-window", time])
    #expect(status == (words == nil ? 0 : 64), "\(said)")
    #expect(words.map { said.contains($0) } ?? true, "\(said)")
  }

  @Test func aRunThatOnlyRecordsTakesAnyCodec() throws {
    let capture = try Scratch.path("pcapng")
    let (status, words) = try run([Self.recording.get(), "--codec", "h265", "--capture", capture])
    #expect(status == 0, "\(words)")
    #expect(!words.contains("what comes is"), "\(words)")
    #expect(try run([capture, "-o", Scratch.path("y4m")]).status == 0)
  }

  @Test func aDescriptionThatNamesTheWrongCodecIsSaidToBeWrong() throws {
    let description = try Scratch.path("sdp")
    try "v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H265/90000\n".write(
      toFile: description, atomically: true, encoding: .utf8)
    let output = try Scratch.path("y4m")
    let (status, said) = try run([Self.recording.get(), "--sdp", description, "-o", output])
    #expect(status == 9, "\(said)")
    #expect(said.contains("--codec h264 overrules it"), "\(said)")
    #expect(!said.contains("leave --codec out"), "\(said)")
  }

  @Test("a description that is none is named, and not the recording beside it")
  func anEmptyDescription() throws {
    let (recording, description) = (try Self.recording.get(), try Scratch.path("sdp"))
    try "".write(toFile: description, atomically: true, encoding: .utf8)
    let (status, said) = try run([recording, "--sdp", description])
    #expect(status == 2, "\(said)")
    #expect(said.contains("cannot read \(description): it is not SDP"), "\(said)")
    #expect(!said.contains(recording), "\(said)")
  }

  @Test func theWrongCodecEndsALiveRunToo() throws {
    let (receiver, port) = try CommandTests.listener(["--codec", "h265"])
    let sender = try RunningProcess(
      Product.rtpSend, CommandTests.pattern + ["udp://127.0.0.1:\(port)", "--frames", "1000"])
    #expect(try receiver.waitForExit() == 9, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    let words = receiver.standardError
    #expect(words.contains("what comes is H264") && words.contains("leave --codec out"), "\(words)")
  }

  @Test func theLastReasonIsSaidWhereNothingCouldBeOpened() throws {
    let source = "rtsp://127.0.0.1:\(try FreePort.closed.get())/live"
    let (status, words) = try run([source, "--reconnect", "--timeout", "2"])
    #expect(status == 4, "\(words)")
    let last = words.split(separator: "\n").last ?? ""
    #expect(last.contains("no media within 2 s"), "\(words)")
    #expect(last.contains("refuses the connection"), "\(words)")
  }

  /// A camera that hangs: the kernel still accepts connections.
  @Test func aServerThatDoesNotAnswerIsNamedBeforeItsTimeIsOver() throws {
    let program = """
      import socket
      server = socket.create_server(("127.0.0.1", 0))
      print("ready", server.getsockname()[1], flush=True)
      client, _ = server.accept()
      while client.recv(1000): pass
      """
    let server = try RunningProcess("/usr/bin/python3", ["-c", program])
    let port = try server.waitForLine(#/ready (\d+)/#).1
    let (status, words) = try run(["rtsp://127.0.0.1:\(port)/live", "--timeout", "1"])
    #expect(status == 4, "\(words)")
    let last = words.split(separator: "\n").last ?? ""
    #expect(last.contains("no media within 1 s; the connection stands"), "\(words)")
    #expect(last.contains("has not answered OPTIONS") && !last.contains("firewall"), "\(words)")
  }

  @Test func whoStopsARunIsNotSentToTheFirewall() throws {
    let (receiver, _) = try CommandTests.listener(["-o", Scratch.path("y4m")])
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let words = receiver.standardError
    #expect(words.hasSuffix("rtp-recv: nothing came\n"), "\(words)")
  }

  @Test func aServerThatAnswersWithoutRTPIsNamedAsASenderIs() throws {
    let program = """
      import socket
      server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      server.bind(("127.0.0.1", 0))
      print("ready", server.getsockname()[1], flush=True)
      while True:
          hello, client = server.recvfrom(100)
          server.sendto((b"G" + bytes(187)) * 7, client)
      """
    let server = try RunningProcess("/usr/bin/python3", ["-c", program])
    let port = try server.waitForLine(#/ready (\d+)/#).1
    let (status, words) = try run(["udp://127.0.0.1:\(port)", "--timeout", "2"])
    #expect(status == 9, "\(words)")
    let last = words.split(separator: "\n").last ?? ""
    #expect(last.contains("MPEG-TS video without RTP"), "\(words)")
  }

  /// A firewall that lets one port through, or a sender whose media go elsewhere.
  @Test func reportsWithoutMediaAreNamed() throws {
    let program = """
      import socket, sys, time
      sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      while True:
          sender.sendto(bytes([0x80, 200, 0, 6]) + bytes([7] * 24), ("127.0.0.1", int(sys.argv[1])))
          time.sleep(0.2)
      """
    let (receiver, sender) = try CommandTests.listener(["--timeout", "2"]) {
      try RunningProcess("/usr/bin/python3", ["-c", program, "\($0)"])
    }
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    let last = receiver.standardError.split(separator: "\n").last ?? ""
    #expect(last.contains("only RTCP came, and no media"), "\(receiver.standardError)")
  }

  /// Slices alone may be of H.264, of another codec, or encrypted.
  @Test func packetsThatShowNoCodecMayBeOfTheOneThatIsSaid() throws {
    let program = """
      import itertools, socket, sys, time
      sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      for number in itertools.count():
          header = bytes([0x80, 96, number >> 8 & 255, number & 255]) + bytes([7] * 8)
          sender.sendto(
              header + bytes([0x41, 0x9a] + [7] * 50), ("127.0.0.1", int(sys.argv[1])))
          time.sleep(0.02)
      """
    let (receiver, sender) = try CommandTests.listener(["--timeout", "2"]) {
      try RunningProcess("/usr/bin/python3", ["-c", program, "\($0)"])
    }
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    let last = receiver.standardError.split(separator: "\n").last ?? ""
    for option in ["--codec", "--payload-type", "--srtp-key-file"] {
      #expect(last.contains(option), "\(receiver.standardError)")
    }
  }

  /// What ends the run makes no other cause of it.
  @Test("a sender whose packets are encrypted is named", arguments: ["--timeout", "--duration"])
  func encrypted(option: String) throws {
    let key = try key(1)
    // Less than the time within which a codec is to be recognized.
    let (receiver, sender) = try CommandTests.listener([option, "4", "-o", Scratch.path("mkv")]) {
      try RunningProcess(
        Product.rtpSend, CommandTests.pattern + ["udp://127.0.0.1:\($0)", "--srtp-key-file", key])
    }
    #expect(try receiver.waitForExit(within: 30) == 9, "\(receiver.standardError)")
    withExtendedLifetime(sender) {}
    let words = receiver.standardError
    #expect(words.contains("look like none of") && words.contains("--srtp-key-file"), "\(words)")
    #expect(!words.contains("no media within"), "\(words)")
  }

  @Test("a few packets are too few to tell what they carry")
  func fewPackets() throws {
    let (receiver, port) = try CommandTests.listener(["--timeout", "5"])
    let sender = try RunningProcess(
      "bash",
      [
        "-c",
        "exec 3> /dev/udp/127.0.0.1/\(port); "
          + #"for n in 1 2 3; do printf "\x80\x60\0\\$n%020d" 0 >&3; done"#,
      ])
    #expect(try sender.waitForExit() == 0)
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    let words = receiver.standardError
    #expect(words.contains("packets came, too few to tell what they carry"), "\(words)")
  }

  /// A sender whose source stops at once.
  @Test(arguments: [
    (#"\x80\x60\0\1%020d"#, "1 packet came, too few to tell what it carries"),
    (#"\x80\xc8\0\6%024d"#, "only RTCP came, and no media"),
  ])
  func aSingleDatagramIsNamed(format: String, words: String) throws {
    let (receiver, port) = try CommandTests.listener(["--timeout", "5"])
    let sender = try RunningProcess(
      "bash", ["-c", "printf '\(format)' 0 > /dev/udp/127.0.0.1/\(port)"])
    #expect(try sender.waitForExit() == 0)
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    #expect(receiver.standardError.contains(words), "\(receiver.standardError)")
  }

  @Test func aSinglePacketOfAConnectionIsNotCalledEncrypted() throws {
    let program = """
      import socket
      server = socket.create_server(("127.0.0.1", 0))
      print("ready", server.getsockname()[1], flush=True)
      client, _ = server.accept()
      client.sendall(bytes([0, 172, 0x80, 96] + [7] * 170))
      client.recv(1)
      """
    let server = try RunningProcess("/usr/bin/python3", ["-c", program])
    let port = try server.waitForLine(#/ready (\d+)/#).1
    let (status, words) = try run(["tcp://127.0.0.1:\(port)", "--timeout", "5"])
    #expect(status != 0, "\(words)")
    #expect(words.contains("1 packet came, too few to tell what it carries"), "\(words)")
    #expect(!words.contains("encrypted"), "\(words)")
  }

  /// What comes in place of RTP is named at once, and is the reason in the end, though a listener
  /// waits on.
  @Test(arguments: [
    (
      "exec ffmpeg -v error -re -f lavfi -i testsrc -c:v mpeg2video -f mpegts "
        + "udp://127.0.0.1:PORT?pkt_size=1316", "MPEG-TS video"
    ),
    ("while echo hello > /dev/udp/127.0.0.1/PORT; do sleep 0.05; done", "text, and not RTP"),
  ])
  func whatIsNotRTPIsSaidAtOnce(sending: String, words: String) throws {
    let output = try Scratch.path("y4m")
    for isStopped in [true, false] {
      let (receiver, sender) = try CommandTests.listener(
        ["-o", output] + (isStopped ? [] : ["--timeout", "2"])
      ) { try RunningProcess("bash", ["-c", sending.replacing("PORT", with: "\($0)")]) }
      _ = try receiver.waitForLine(#/warning: what comes is/#)
      if isStopped { receiver.send(signal: SIGINT) }
      #expect(try receiver.waitForExit() == 9, "\(receiver.standardError)")
      withExtendedLifetime(sender) {}
      let last = receiver.standardError.split(separator: "\n").last ?? ""
      #expect(last.contains(words), "\(receiver.standardError)")
      #expect(!receiver.standardError.contains("nothing came"), "\(receiver.standardError)")
    }
  }

  @Test func nothingIsWrittenTwiceOrOverWhatIsRead() throws {
    let recording = try Self.recording.get()
    let output = try Scratch.path("h264")
    let key = try key(1)
    let rows = [
      ["-o", output, "-o", output], ["-o", output, "--stats", output],
      ["-o", output, "--capture", output], ["-o", recording, "--format", "h264"],
      ["--stats", key, "--srtp-key-file", key], ["--capture", "-"],
    ]
    let before = try Data(contentsOf: URL(fileURLWithPath: recording))
    let keyBefore = try Data(contentsOf: URL(fileURLWithPath: key))
    for row in rows {
      let (status, words) = try run([recording] + row)
      #expect(status == 64, "\(row): \(words)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: recording)) == before)
    #expect(try Data(contentsOf: URL(fileURLWithPath: key)) == keyBefore)
    #expect(!FileManager.default.fileExists(atPath: output))
  }

  /// The same file under another name is the same file.
  @Test func namesOfOneFileAreKnownForTheSame() throws {
    let folder = try Scratch.path("folder")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let recording = try Self.recording.get()
    let shell = """
      cd \(folder) && cp \(recording) in.rtp4 && ln in.rtp4 hard.h264 && ln -s in.rtp4 soft.h264
      ln -s new.h264 dangling.h264 && ln -s . here
      """
    #expect(try RunningProcess("bash", ["-c", shell]).waitForExit() == 0)
    let before = try Data(contentsOf: URL(fileURLWithPath: folder + "/in.rtp4"))
    let rows = [
      "in.rtp4 -o new.h264 --stats ./new.h264", "in.rtp4 -o new.h264 --stats here/new.h264",
      "in.rtp4 -o new.h264 --capture dangling.h264", "in.rtp4 -o dangling.h264 -o here/./new.h264",
      "in.rtp4 -o hard.h264", "in.rtp4 -o soft.h264", "./here/in.rtp4 --stats soft.h264",
      "- -o hard.h264 < in.rtp4", "in.rtp4 -o - --format h264 --stats new.h264 > new.h264",
    ]
    for row in rows {
      let process = try RunningProcess("bash", ["-c", "cd \(folder) && \(Product.rtpRecv) \(row)"])
      #expect(try process.waitForExit() == 64, "\(row): \(process.standardError)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/in.rtp4")) == before)
  }

  @Test("a name that is no UTF-8 is refused, and no file of another name is made")
  func bytesThatAreNoText() throws {
    let folder = try TemporaryFolder()
    let recording = try Self.recording.get()
    let line = "cd \(folder.path) && \(Product.rtpRecv) \(recording) -o $'\\xff.mp4'"
    let process = try RunningProcess("bash", ["-c", line])
    #expect(try process.waitForExit() == 64)
    #expect(process.standardError.contains("UTF-8"), "\(process.standardError)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test(
    "a film that the sender is to write over is refused", arguments: ["--sdp", "--stats", "--log"])
  func filmAsOutput(option: String) throws {
    let folder = try TemporaryFolder()
    try Data("film".utf8).write(to: folder.url("film.h264"))
    let film = folder("film.h264")
    let sender = try RunningProcess(
      Product.rtpSend, [film, "udp://127.0.0.1:9", option, folder("./film.h264")])
    #expect(try sender.waitForExit() == 64)
    #expect(sender.standardError.contains("is read"), "\(sender.standardError)")
    #expect(try folder.contents("film.h264") == Array("film".utf8))
  }

  @Test func aPatternOfAnOddSizeIsRefusedWithTheNextOne() throws {
    let sender = try RunningProcess(
      Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--size", "322x241"])
    #expect(try sender.waitForExit() == 64)
    #expect(sender.standardError.contains("322x242"), "\(sender.standardError)")
  }

  private static let film = "ffmpeg -v error -f lavfi -i testsrc2=size=256x144 -t 2"
  private static let foreign: [(writer: String, words: String)] = [
    ("\(film) -c:v mpeg2video -f mpegts -", "it is MPEG-TS video"),
    ("\(film) -c:v libx264 -pix_fmt yuv420p -f h264 -", "it is an elementary stream of video"),
    (#"printf 'SDP:\nv=0\no=- 0 0 IN IP4 127.0.0.1\n'"#, "it is a session description"),
    (#"printf '# Mine\ncameras:\n  front:\n'"#, "rtp-recv fleet"),
  ]

  @Test(
    "what a pipe brings in place of packets is named",
    arguments: foreign, ["", "--framing rfc4571"])
  func foreignPipe(command: (writer: String, words: String), options: String) throws {
    let process = try RunningProcess(
      "bash", ["-c", "\(command.writer) | \(Product.rtpRecv) - \(options)"])
    #expect(try process.waitForExit() == 9, "\(process.standardError)")
    #expect(process.standardError.contains(command.words), "\(process.standardError)")
    #expect(!process.standardError.contains("try --framing"), "\(process.standardError)")
  }

  @Test("a file of cameras is named where it is the source")
  func fleetAsSource() throws {
    let folder = try TemporaryFolder()
    try Data("version: 1\ndefaults: # of all\n".utf8).write(to: folder.url("cameras.yaml"))
    let (status, words) = try run([folder("cameras.yaml")])
    #expect(status != 0)
    #expect(words.contains("it is a file of cameras; try: rtp-recv fleet"), "\(words)")
  }

  @Test func whatComesThroughAPipeIsNamed() throws {
    let capture = try Scratch.path("pcapng")
    let output = try Scratch.path("h264")
    #expect(try run([Self.recording.get(), "-o", output, "--capture", capture]).status == 0)
    let mode = try FileManager.default.attributesOfItem(atPath: capture)[.posixPermissions]
    #expect(mode as? Int == 0o600, "what a camera sees concerns nobody else")
    let page = try Scratch.path("html")
    try "<!DOCTYPE html><html></html>".write(toFile: page, atomically: true, encoding: .utf8)
    let process = try RunningProcess(
      "sh", ["-c", "cat \(page) | \(Product.rtpRecv) - -o \(output)"])
    #expect(try process.waitForExit() == 9)
    #expect(process.standardError.contains("a web page"), "\(process.standardError)")
    // A capture is played, compressed or not, and so it is from a pipe that has a name.
    let plain = try Data(contentsOf: URL(fileURLWithPath: output))
    for command in [
      "cat \(capture) | \(Product.rtpRecv) - -o \(output)",
      "gzip -c \(capture) | \(Product.rtpRecv) - -o \(output)",
      "\(Product.rtpRecv) <(cat \(capture)) -o \(output)",
    ] {
      let process = try RunningProcess("bash", ["-c", command])
      #expect(try process.waitForExit() == 0, "\(process.standardError)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == plain)
    }
    // As a file, standard input may be anything that is played.
    #expect(try run(["-", "-o", output], input: capture).status == 0)
  }

  @Test("a codec that is not known is said to be none, from a file and from a pipe")
  func unknownCodec() throws {
    var recording = Data()
    for number in UInt8(0)..<30 {
      // A length, and a packet of G.711 under a dynamic payload type.
      let header: [UInt8] = [0x80, 97, 0, number, 0, 0, number, 0, 0, 0, 0, 9]
      recording += Data([0, 0, 0, 172]) + header + Data(repeating: 0xD5, count: 160)
    }
    let path = try Scratch.path("rtp4")
    try recording.write(to: URL(fileURLWithPath: path))
    for command in ["\(Product.rtpRecv) \(path)", "cat \(path) | \(Product.rtpRecv) -"] {
      let process = try RunningProcess("sh", ["-c", command])
      #expect(try process.waitForExit() == 9, "\(process.standardError)")
      #expect(process.standardError.contains("payload type 97"), "\(process.standardError)")
    }
  }

  /// Each mistake has its own message with what to type instead.
  @Test(arguments: [
    ("missing.pcapng", 2, "No such file"), ("missing.mp4", 64, "there is no such file"),
    ("missing.pcap.gz", 2, "No such file"),
    ("camera.example:5004", 64, "udp:// rtp:// rtsp://"), (":5004", 64, "how; put one of these"),
    ("/tmp", 2, "it is a directory"), ("/dev/null", 2, "neither a file nor a pipe"),
    ("", 64, "it is empty"),
  ])
  func whatIsNoSourceIsSaidShortly(source: String, status: Int32, words: String) throws {
    let (found, said) = try run([source])
    #expect(found == status, "\(said)")
    #expect(said.contains(words), "\(said)")
    #expect(said.utf8.count < 220, "\(said)")
  }

  @Test func aDescriptionOfSoundAloneIsSaidAtOnce() throws {
    let path = try Scratch.path("sdp")
    try "v=0\nm=audio 5004 RTP/AVP 0\n".write(toFile: path, atomically: true, encoding: .utf8)
    let (status, words) = try run([path, "-o", Scratch.path("y4m")])
    #expect(status == 9)
    #expect(words.contains("audio PCMU") && words.contains("H264"), "\(words)")
  }

  @Test func theFlowsOfARecordingAreListed() throws {
    let capture = try Scratch.path("pcapng")
    #expect(try run([Self.recording.get(), "--capture", capture]).status == 0)
    for source in [capture, try Self.recording.get()] {
      let process = try RunningProcess(Product.rtpRecv, [source, "--list"])
      #expect(try process.waitForExit() == 0, "\(process.standardError)")
      let line = String(decoding: process.standardOutput, as: UTF8.self)
      #expect(line.hasPrefix("0  video  H264  "), "\(line)")
      #expect(line.contains("--ssrc 0x") && line.contains(" 0 lost (0.00 %)"), "\(line)")
    }
    for command in [
      "cat \(capture) | \(Product.rtpRecv) - --list",
      "gzip -c \(capture) | \(Product.rtpRecv) - --list",
      "\(Product.rtpRecv) <(cat \(capture)) --list",
    ] {
      let process = try RunningProcess("bash", ["-c", command])
      #expect(try process.waitForExit() == 0, "\(process.standardError)")
      let line = String(decoding: process.standardOutput, as: UTF8.self)
      #expect(line.hasPrefix("0  video  H264  "), "\(command): \(line)")
    }
    let process = try RunningProcess(Product.rtpRecv, [capture, "--list-json"])
    #expect(try process.waitForExit() == 0)
    let object = try #require(
      try JSONSerialization.jsonObject(with: process.standardOutput) as? [String: Any])
    #expect(object["encoding"] as? String == "H264")
    #expect(object["lost"] as? Int == 0)
    #expect(object["packets"] as? Int ?? 0 > 30)
  }

  private static let unwritable = "standard output cannot be written: No space left"

  @Test(
    "what the command writes itself has a place to go",
    arguments: [
      ("SOURCE --capture /nowhere/x.pcapng", 6, "--capture: "),
      ("SOURCE --list > /dev/full", 6, unwritable),
      ("--help > /dev/full", 6, unwritable),
      ("fleet --help > /dev/full", 6, unwritable),
      (
        "fleet --check <(echo 'cameras: {a: {source: \"udp://a:1\", output: a.mp4}}') > /dev/full",
        6, unwritable
      ),
      ("--help | true", 0, ""),
      ("SOURCE --list | true", 0, ""),
    ])
  func whatCannotBeWritten(arguments: String, status: Int32, words: String) throws {
    let source = try Self.recording.get()
    let command = arguments.replacingOccurrences(of: "SOURCE", with: source)
    let process = try RunningProcess(
      "bash", ["-c", "set -o pipefail; '\(Product.rtpRecv)' \(command)"])
    #expect(try process.waitForExit() == status, "\(process.standardError)")
    let said = process.standardError
    #expect(words.isEmpty ? said.isEmpty : said.contains(words), "\(said)")
  }

  @Test(arguments: [
    ["tcp://user:canary@127.0.0.1:1"], ["udp://user:canary@127.0.0.1:1"],
    ["http://127.0.0.1:1/", "--http-proxy", "http://user:canary@127.0.0.1:99999"],
    ["http://127.0.0.1:1/", "--http-proxy", "http://user:can/ary@127.0.0.1:1"],
  ])
  func noPasswordIsShown(arguments: [String]) throws {
    let (status, words) = try run(arguments + ["-o", "/dev/null", "--format", "h264"])
    #expect(status != 0)
    #expect(!words.contains("canary") && !words.contains("can/ary"), "\(words)")
  }

  @Test(arguments: [
    ["pattern", "rtsp://user:canary@127.0.0.1:8554/live"],
    ["pattern", "rtsp://:0/a", "pattern", "udp://user:canary@127.0.0.1:1"],
    ["proxy", "rtsp://127.0.0.1:0", "rtsp://user:canary@127.0.0.1"],
  ])
  func noPasswordIsShownByTheSenderEither(arguments: [String]) throws {
    let sender = try RunningProcess(Product.rtpSend, arguments)
    #expect(try sender.waitForExit() == 64)
    #expect(sender.standardError.contains("127.0.0.1"), "\(sender.standardError)")
    #expect(!sender.standardError.contains("canary"), "\(sender.standardError)")
  }

  @Test func anAddressIsEnoughWhereTheTransportIsNamed() throws {
    let server = try SendingServer(
      "pattern", ["--fast", "--frames", "10", "--size", "256x144"])
    let output = try Scratch.path("h264")
    let (status, words) = try run(
      ["--transport", "http", "127.0.0.1:\(server.port)/live", "-o", output])
    #expect(status == 0, "\(words)")
  }
}
