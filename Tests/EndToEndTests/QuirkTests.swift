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
    if quirk == .parameterSetsInSDP {
      options += ["--sdp", try description(of: codec)]
    } else if let quirk, quirk.place == .description {
      options += ["--sdp", try description(of: codec, ["--quirk", quirk.rawValue])]
    }
    let (receiver, port) = try CommandTests.listener(options)
    let sender = try RunningProcess(
      Product.rtpSend,
      pattern + ["--codec", codec, "udp://127.0.0.1:\(port)"]
        + (quirk.map { $0.place == .description ? [] : ["--quirk", $0.rawValue] } ?? []))
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    let status = try receiver.waitForExit()
    #expect(quirk == .fragmentWithoutStart || status == 0, "\(receiver.standardError)")
    return try FFmpeg.frameHashes(of: output)
  }

  private static func description(
    of codec: String, _ options: [String] = []
  ) throws -> String {
    let path = try Scratch.path("sdp")
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "--size", "320x240", "--gop", "15", "--bframes", "2", "--codec", codec]
        + ["udp://127.0.0.1:9", "--frames", "1", "--sdp", path] + options)
    // Nobody listens there.
    try sender.waitForExit()
    return path
  }

  @Test(
    arguments: Quirk.allCases.filter { ![.session, .tunnel].contains($0.place) }, ["h264", "h265"])
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

  /// Half pictures would be shown, or the first group of pictures left out.
  @Test(arguments: Clip.Codec.allCases)
  func framesOfSeveralSlicesAreExactFromTheFirst(codec: Clip.Codec) throws {
    let clip = try Clip.ofSeveralSlices(codec)
    let (output, copy) = (try Scratch.path("y4m"), try Scratch.path(codec.rawValue))
    let (receiver, port) = try CommandTests.listener(["-o", output, "-o", copy, "--timeout", "10"])
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.container, "udp://127.0.0.1:\(port)", "--quirk", Quirk.markerOnEverySlice.rawValue])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(clip.hashes.count == clip.frames)
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: copy) == clip.hashes)
  }

  /// The proxy makes the same of the packets of a sender without quirks.
  @Test(arguments: Quirk.allCases.filter { $0.place == .packets })
  func framesAreExactBehindAProxy(quirk: Quirk) throws {
    let expected = try #require(Self.expected["h264"]).get()
    let output = try Scratch.path("y4m")
    let (receiver, port) = try CommandTests.listener(["-o", output, "--timeout", "10"])
    let proxy = try ImpairingProxy(to: port, options: ["--quirk", quirk.rawValue])
    let sender = try RunningProcess(
      Product.rtpSend, Self.pattern + ["udp://127.0.0.1:\(proxy.port)"])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: output) == expected)
    #expect(try proxy.stop() == 0)
  }

  /// A server without quirks behind a proxy that has one.
  @Test(arguments: Quirk.allCases.filter { [.session, .description].contains($0.place) })
  func anRTSPServerWithQuirksIsPlayed(quirk: Quirk) throws {
    let server = try GStreamerServer(Clip.h264.get(), ["--sound-first"])
    let proxy = try ImpairingProxy(
      to: server.port, scheme: "rtsp", options: ["--quirk", quirk.rawValue])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtsp://127.0.0.1:\(proxy.port)/stream", "--rtsp-transport", "tcp", "-o", output]
        + ["--frames", "100"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let hashes = try Array(Clip.h264.get().hashes.prefix(100))
    #expect(try FFmpeg.frameHashes(of: output) == hashes, "\(receiver.standardError)")
    #expect(try proxy.stop() == 0)
  }

  /// The same quirks in a server of ours.
  @Test(arguments: Quirk.allCases.filter { $0.place == .session })
  func ourServerWithQuirksIsPlayed(quirk: Quirk) throws {
    let expected = try #require(Self.expected["h264"]).get()
    let hashes = try Self.play([quirk.rawValue], Self.pattern).hashes
    #expect(hashes == expected)
  }

  /// On IPv4 there are no brackets.
  @Test func aBaseByIPv6WithoutBracketsIsUnderstood() throws {
    let expected = try #require(Self.expected["h264"]).get()
    let hashes = try Self.play(["content-base-no-brackets"], Self.pattern, at: "[::1]").hashes
    #expect(hashes == expected)
  }

  @Test func mediaComeFromAPortThatLooksClosed() throws {
    let expected = try #require(Self.expected["h264"]).get()
    let hashes = try Self.play(["punch-refused"], Self.pattern, through: "udp").hashes
    #expect(hashes == expected)
  }

  /// A client that sets a track up over UDP, and sends what opens its firewall.
  private static let puncher = """
    import re, socket, sys
    address = ("127.0.0.1", int(sys.argv[1]))
    media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    media.bind(("127.0.0.1", 0))
    media.settimeout(30)
    own = media.getsockname()[1]
    rtsp = socket.create_connection(address, 30)
    rtsp.sendall(f"SETUP rtsp://127.0.0.1:{address[1]}/live/trackID=1 RTSP/1.0\\r\\nCSeq: 1\\r\\n"
      f"Transport: RTP/AVP;unicast;client_port={own}-{own + 1}\\r\\n\\r\\n".encode())
    answer = b""
    while b"\\r\\n\\r\\n" not in answer:
        answer += rtsp.recv(1000) or sys.exit(f"closed after {answer}")
    port = int(re.search(rb"server_port=(\\d+)", answer)[1])
    media.connect(("127.0.0.1", port))
    media.send(bytes([0x80]) + bytes(11))
    try:
        media.recv(1000)
    except ConnectionRefusedError:
        print("refused")
    """

  @Test(arguments: [true, false])
  func whatOpensAFirewallIsRefused(byTheProxy: Bool) throws {
    let quirk = ["--quirk", "punch-refused"]
    let server = try RTSPSendTests.Server(
      [("pattern", "live")], RTSPSendTests.small + (byTheProxy ? [] : quirk))
    var port = try #require(server.address.split(separator: ":").last.flatMap { UInt16($0) })
    let proxy = try byTheProxy ? ImpairingProxy(to: port, scheme: "rtsp", options: quirk) : nil
    if let proxy { port = proxy.port }
    let client = try RunningProcess("/usr/bin/python3", ["-c", Self.puncher, "\(port)"])
    #expect(try client.waitForExit() == 0, "\(client.standardError)")
    #expect(client.standardOutput == Data("refused\n".utf8))
    if let proxy { #expect(try proxy.stop() == 0) }
    #expect(try server.stop() == 0)
  }

  /// Its address is not the one that the tunnel names.
  @Test(arguments: Quirk.allCases.filter { $0.place == .tunnel })
  func aTunnelWithQuirksIsPlayed(quirk: Quirk) throws {
    let expected = try #require(Self.expected["h264"]).get()
    let hashes = try Self.play(
      [quirk.rawValue], Self.pattern + ["--accounts", try RTSPSendTests.accounts()],
      through: "http", at: "127.0.0.2", as: "viewer:canary@"
    ).hashes
    #expect(hashes == expected)
  }

  /// The receiver gives signs of life each second, however they are answered.
  @Test(
    arguments: [
      ([], nil), (["keepalives-refused"], "GET_PARAMETER was refused as a keep-alive"),
      (["keepalives-refused", "no-cseq"], nil), (["keepalives-unanswered"], nil),
      (["session-changes"], nil), (["get-parameter-alone"], nil),
    ] as [([String], String?)])
  func sessionsAreKeptAlive(quirks: [String], words: String?) throws {
    let pattern = ["pattern", "--size", "320x240", "--frames", "125"]
    let (hashes, said) = try Self.play(["session-timeout-2s"] + quirks, pattern)
    #expect(hashes.count == 125)
    if let words { #expect(said.contains(words), "\(said)") }
  }

  private static func play(
    _ quirks: [String], _ pattern: [String], through transport: String = "tcp",
    at host: String = "127.0.0.1", as user: String = ""
  ) throws -> (hashes: [String], said: String) {
    let server = try RTSPSendTests.Server(
      [("pattern", "live")],
      Array(pattern.dropFirst()) + ["--once", "--quirk", quirks.joined(separator: ",")],
      host: host)
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live", user: user), "--rtsp-transport", transport, "-o", output, "--verbose"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try server.process.waitForExit() == 0, "\(server.process.standardError)")
    return (try FFmpeg.frameHashes(of: output), receiver.standardError)
  }

  @Test(arguments: [
    "sdp-aac-mode", "sdp-no-indexlength", "sdp-aac-mode,sdp-no-indexlength", "adts-inside",
  ])
  func soundIsKnownByWhatTheDescriptionSays(quirks: String) throws {
    func samples(_ options: [String]) throws -> Int {
      let server = try RTSPSendTests.Server(
        [("pattern", "live")],
        ["--size", "320x240", "--audio", "aac", "--frames", "50", "--once"] + options)
      let output = try Scratch.path("wav")
      let receiver = try RunningProcess(
        Product.rtpRecv, [server.url("live"), "--rtsp-transport", "tcp", "-o", output])
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      #expect(try server.process.waitForExit() == 0, "\(server.process.standardError)")
      return try FFmpeg.output(["-i", output, "-f", "s16le", "-ac", "1", "-"]).count / 2
    }
    let expected = try samples([])
    #expect(expected > 48_000)
    #expect(try samples(["--quirk", quirks]) == expected)
  }

  @Test(
    "the names are listed, also without a source",
    arguments: [
      ([], false), (["pattern", "udp://127.0.0.1:9"], false), (["proxy"], true),
      (["proxy", "rtsp://:0", "rtsp://127.0.0.1"], true),
    ])
  func theNamesAreListed(command: [String], isProxy: Bool) throws {
    let sender = try RunningProcess(Product.rtpSend, command + ["--quirk", "list"])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    let text = String(decoding: sender.standardOutput, as: UTF8.self)
    for quirk in Quirk.allCases {
      let isOfProxies = ![.payloads, .tunnel].contains(quirk.place)
      #expect(text.contains("\(quirk.rawValue) ") == (!isProxy || isOfProxies))
    }
  }

  @Test func anUnknownNameIsRefused() throws {
    let wrong = try RunningProcess(
      Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--quirk", "no-marker,rust"])
    #expect(try wrong.waitForExit() == 64)
  }
}
