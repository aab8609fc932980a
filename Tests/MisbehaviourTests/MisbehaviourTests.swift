import Foundation
import TestSupport
import Testing

/// Servers that do what their scripts say, a file per case.
struct MisbehaviourTests {
  @Test(arguments: Script.names)
  func everyScriptCanBeRead(name: String) throws {
    let script = try Script(named: name)
    #expect(!script.title.isEmpty)
    #expect(name == "usual" || !script.expectations.isEmpty)
  }

  @Test func theUsualAnswersAreThoseOfAServerThatFFmpegPlays() async throws {
    let server = try await SocketServer.start(Script(""))
    let ffmpeg = try Command.run(
      "ffmpeg",
      ["-v", "error", "-rtsp_transport", "tcp", "-i", "rtsp://127.0.0.1:\(server.port)/stream"]
        + ["-c", "copy", "-f", "framemd5", "-"])
    #expect(ffmpeg.status == 0, "\(ffmpeg.errors)")
    let lines = ffmpeg.output.split(separator: "\n")
    #expect(lines.filter { !$0.hasPrefix("#") }.count == ClipPackets.frameCount)
    try await server.stop()
  }

  @Test("on a virtual clock", arguments: Script.namesOfPlainOnes)
  func virtual(name: String) throws {
    let script = try Script(named: name)
    let outcome = try VirtualPlay.run(script)
    outcome.check(script, port: ScriptedServer.Place().port)
  }

  @Test("over sockets, what lasts no longer than a moment", arguments: Script.namesOfQuickOnes)
  func sockets(name: String) async throws {
    let script = try Script(named: name)
    let (outcome, port) = try await SocketPlay.run(script)
    outcome.check(script, port: port)
  }

  @Test(
    "through the command: exit status, what it says, and what it does not",
    arguments: [
      ("refuses-every-password", 3, "password"),
      ("wants-a-password-and-there-is-none", 3, "--user"),
      ("refuses-the-stream", 12, "404"),
      ("redirects-to-the-metadata-service", 11, "redirect"),
      ("describes-no-video", 12, "no video"),
      ("sends-mpeg-ts", 2, "put each stream into RTP by itself"),
      ("wants-to-agree-on-keys", 2, "switch SRTP off"),
      ("server-goes-in-mid-stream", 1, "closed the connection"),
      ("answers-with-a-web-page", 2, "does not send RTSP"),
    ])
  func command(name: String, status: Int32, words: String) async throws {
    let script = try Script(named: name)
    let server = try await SocketServer.start(script)
    var source = script.source(port: server.port)
    if let user = script.given["user"], let password = script.given["password"] {
      source.replace("://", with: "://\(user):\(password)@")
    }
    let program = Bundle.module.bundleURL.deletingLastPathComponent()
      .appendingPathComponent("rtp-recv").path
    let command = try Command.run(
      program, [source, "--stats", "-", "-o", "/dev/null", "--format", "yuv", "--verbose"])
    #expect(command.status == status)
    #expect(command.errors.contains(words), "\(command.errors)")
    for text in [command.errors, command.output] {
      #expect(!text.contains("canary-4711"), "\(text)")
      #expect(!text.contains("\u{1B}"), "\(text)")
    }
    try await server.stop()
  }

  @Test("the command line is not blamed for a camera that wants to agree on keys")
  func keysToAgreeOn() async throws {
    let script = try Script(
      """
      > DESCRIBE
      < 200 OK
        Content-Type: application/sdp
        | v=0
        | o=- 1 1 IN IP4 127.0.0.1
        | s=-
        | t=0 0
        | m=video 0 RTP/SAVP 96
        | a=key-mgmt:mikey AQAFgAAAAAB4AAAA
        | a=rtpmap:96 H264/90000
        | a=control:track1
      """)
    let server = try await SocketServer.start(script)
    let command = try Command.run(
      Product.rtpRecv, [script.source(port: server.port), "-o", "/dev/null", "--format", "yuv"])
    #expect(command.status == 2)
    #expect(command.errors.contains("switch SRTP off"), "\(command.errors)")
    try await server.stop()
  }

  @Test("no file has a name that the server says") func fileNames() async throws {
    let script = try Script(
      """
      > DESCRIBE
      < 200 OK
        Content-Type: application/sdp
        Content-Base: {base}/stream/
        Content-Disposition: attachment; filename="../canary.mp4"
        Server: ../canary.mp4
        | v=0
        | o=../canary.mp4 1 1 IN IP4 127.0.0.1
        | s=../canary.mp4
        | i=../canary.mp4
        | t=0 0
        | a=tool:../canary.mp4
        | m=video 0 RTP/AVP 96
        | i=../canary.mp4
        | a=rtpmap:96 H264/90000
        | a=fmtp:96 packetization-mode=1;sprop-parameter-sets={sets}
        | a=label:../canary.mp4
        | a=control:../canary.mp4
      """)
    let server = try await SocketServer.start(script)
    let folder = try TemporaryFolder()
    let place = folder.url("in")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    func file(_ name: String) -> String { place.appendingPathComponent(name).path }
    let command = try Command.run(
      Product.rtpRecv,
      [script.source(port: server.port), "--rtsp-transport", "tcp", "-o", file("film-%H%M%S.mp4")]
        + ["-o", file("frames.y4m"), "--stats", file("totals.jsonl")]
        + ["--capture", file("all.pcapng")])
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    #expect(
      paths.map { $0.replacing(#/\d{6}/#, with: "TIME") } == [
        "in", "in/all.pcapng", "in/film-TIME.mp4", "in/frames.y4m", "in/totals.jsonl",
      ], "\(command.errors)")
    try await server.stop()
  }

  @Test(
    "however it is divided into reads, it comes to the same", arguments: Script.namesOfPlainOnes)
  func divided(name: String) throws {
    let script = try Script(named: name)
    let whole = try VirtualPlay.run(script)
    // A megabyte byte by byte shows no more than a few pages do, and takes seconds.
    let isSmall = (whole.bytesFromServer ?? 0) < 50_000
    let ways = (1...2).map { VirtualPlay.Portions.random(seed: $0) } + (isSmall ? [.single] : [])
    for way in ways {
      let outcome = try VirtualPlay.run(script, portions: way)
      #expect(outcome.end == whole.end, "\(way)")
      #expect(outcome.reports == whole.reports, "\(way)")
      #expect(
        Frame.description(of: outcome.frames) == Frame.description(of: whole.frames),
        "\(way)")
    }
  }

  @Test func theServerClosesBehindEveryByteThatItSends() throws {
    let script = try Script("> PLAY\n< 200 OK\n  Session: 1\n$ frames 1\nclose")
    let sent = try #require(try VirtualPlay.run(script).bytesFromServer)
    for limit in 0...sent {
      let outcome = try VirtualPlay.run(script, byteLimit: limit)
      #expect(
        ["connectionClosed", "brokenOff", "finished"].contains(outcome.end), "\(limit) bytes")
      let seconds = try #require(outcome.seconds)
      #expect(seconds <= 1, "\(limit) bytes")
      // The end that is missing is never passed off as not missing.
      #expect(outcome.passedOffAsWhole == [], "\(limit) bytes")
      #expect(
        ["none", "0!", "0"].contains(Frame.description(of: outcome.frames)),
        "\(limit) bytes")
    }
  }
}

extension Script {
  /// Those without TLS, which is the shell's alone.
  static let namesOfPlainOnes = names.filter {
    (try? Script(named: $0))?.given["secure"] == nil
  }

  /// The scripts without waits of seconds, which can be played on sockets.
  static let namesOfQuickOnes = names.filter { name in
    guard let script = try? Script(named: name) else { return false }
    let waits: Set<String> = ["noResponse", "noMedia", "mediaStopped"]
    return script.expectations.allSatisfy {
      switch $0 {
      case .end(let end): !waits.contains(end)
      case .report(let report): report != "udpSilent"
      case .within(let seconds): seconds <= 5
      default: true
      }
    } && script.blocks.allSatisfy { $0.steps.allSatisfy(\.isQuick) }
  }
}

extension Script.Step {
  fileprivate var isQuick: Bool {
    switch self {
    case .wait(let seconds): seconds < 0.5
    case .drip(let seconds): seconds == 0
    case .loop(_, let steps): steps.allSatisfy(\.isQuick)
    default: true
    }
  }
}
