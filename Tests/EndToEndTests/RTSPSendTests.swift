import Foundation
import TestSupport
import Testing

/// `rtp-send … rtsp://…` to the players that people have, and to `rtp-recv`: the frames are
/// FFmpeg's.
@Suite(.serialized)
struct RTSPSendTests {
  /// A server and where it listens.
  struct Server {
    let process: RunningProcess
    let address: String

    init(
      _ sources: [(source: String, name: String)], _ options: [String] = [],
      scheme: String = "rtsp", host: String = "127.0.0.1", on machine: NeighbouringMachine? = nil,
      descriptors: Int? = nil
    ) throws {
      let pairs = sources.flatMap { [$0.source, "\(scheme)://\(host):0/\($0.name)"] }
      let limit = descriptors.map { ["sh", "-c", "ulimit -n \($0) && exec \"$@\"", "sh"] } ?? []
      process = try RunningProcess(
        "env", (machine?.prefix ?? []) + limit + [Product.rtpSend] + pairs + options)
      address = String(try process.waitForLine(#/listening on (\S+:\d+)/#).1)
    }

    func url(_ name: String, scheme: String = "rtsp", user: String = "") -> String {
      "\(scheme)://\(user)\(address)/\(name)"
    }

    /// Ends it; its exit status.
    func stop() throws -> Int32 {
      process.send(signal: SIGINT)
      return try process.waitForExit()
    }
  }

  /// A pattern of which a second and more fits into any socket that nobody reads meanwhile.
  static let small = ["--size", "320x240", "--bitrate", "500k"]

  /// A clip with two key pictures a second, and sound.
  static let film = Result {
    let path = try Scratch.folder.appendingPathComponent("film.mp4").path
    _ = try FFmpeg.output(
      ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=50", "-f", "lavfi", "-i", "sine"]
        + ["-t", "6", "-c:v", "libx264", "-preset", "veryfast", "-g", "25", "-bf", "2"]
        + ["-pix_fmt", "yuv420p", "-c:a", "aac", path])
    return path
  }

  /// What FFmpeg decodes of a URL; only the first pictures, if a number is given.
  static func hashes(
    _ url: String, _ options: [String], taking count: Int? = nil
  ) throws -> [String] {
    try FFmpeg.frameHashes(of: url, options: options, conversion: Self.taking(count))
  }

  /// The options with which FFmpeg ends after so many pictures.
  private static func taking(_ count: Int?) -> [String] {
    count.map { ["-frames:v", "\($0)"] } ?? []
  }

  /// Does something over a transport: over UDP again where the kernel dropped datagrams.
  private func over<Value>(_ transport: String, _ body: () throws -> Value) throws -> Value {
    try withoutKernelDrops(attempts: transport == "udp" ? 5 : 1, body)
  }

  /// The first client leaves while the server still waits to say goodbye.
  @Test(arguments: [[], ["--feedback", "nack"]])
  func aLiveProgrammeThatIsOverBeginsAnewForTheNextClient(options: [String]) throws {
    let server = try Server(
      [("pattern", "cam")], Self.small + ["--frames", "30", "--gop", "10"] + options)
    for _ in 0..<2 {
      let receiver = try RunningProcess(
        Product.rtpRecv,
        [server.url("cam"), "--rtsp-transport", "udp", "--frames", "30", "-o", "/dev/null"]
          + ["--format", "yuv"])
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    }
    #expect(try server.stop() == 0)
  }

  /// What FFmpeg shows of a clip of which a server is made.
  ///
  /// At a goodbye it leaves with what its socket still holds. So it hears none over UDP: it takes
  /// as many pictures as the clip has of one that is live.
  private func shown(
    _ clip: Clip, over transport: String, _ options: [String] = [],
    listeningOn host: String = "127.0.0.1", at address: String = "127.0.0.1"
  ) throws -> [String] {
    let isLive = transport == "udp"
    return try over(transport) {
      // Only its first client sees what is live from the beginning.
      let server = try Server(
        [(clip.path, "clip")], options + (isLive ? ["--loop", "forever"] : []), host: host)
      let port = server.address.split(separator: ":").last ?? ""
      let hashes = try Self.hashes(
        "rtsp://\(address):\(port)/clip", ["-rtsp_transport", transport],
        taking: isLive ? clip.frames : nil)
      #expect(try server.stop() == 0)
      return hashes
    }
  }

  @Test("FFmpeg seeks") func seeking() throws {
    let film = try Self.film.get()
    let all = try FFmpeg.frameHashes(of: film)
    let server = try Server([(film, "film")], ["--audio", "copy"])
    let rest = try Self.hashes(
      server.url("film"), ["-rtsp_transport", "tcp", "-ss", "4", "-noaccurate_seek"])
    #expect(!rest.isEmpty && rest == Array(all.suffix(rest.count)), "\(rest.count)")
    #expect((90...130).contains(rest.count), "\(rest.count)")
    // Over UDP it would not show all that comes before the goodbye.
    let piece = try over("udp") {
      try Self.hashes(
        server.url("film"), ["-rtsp_transport", "udp", "-ss", "2", "-noaccurate_seek"], taking: 60)
    }
    let place = try #require(piece.first.flatMap { all.firstIndex(of: $0) })
    #expect((70...110).contains(place), "\(place)")
    #expect(piece == Array(all[place...].prefix(60)))
    #expect(try server.stop() == 0)
  }

  @Test("FFmpeg logs in", arguments: ["digest", "basic", "digest,sha-256"])
  func login(methods: String) throws {
    let clip = try Clip.h264.get()
    let server = try Server(
      [(clip.path, "clip")], ["--accounts", try Self.accounts(), "--auth", methods])
    let hashes = try Self.hashes(
      server.url("clip", user: "viewer:canary@"), ["-rtsp_transport", "tcp"])
    #expect(hashes == clip.hashes)
    #expect(try Self.hashes(server.url("clip", user: "viewer:other@"), []).isEmpty)
    #expect(try server.stop() == 0)
  }

  @Test("rtp-recv, every frame", arguments: ["tcp", "udp"], Clip.Codec.allCases)
  func receiver(transport: String, codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let server = try Server([(clip.path, "clip")])
    let output = try over(transport) {
      try receive(server.url("clip"), ["--rtsp-transport", transport])
    }
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    #expect(try server.stop() == 0)
  }

  @Test(
    "every packetization, to those who know it",
    arguments: Packets.allCases, ["tcp", "udp"])
  func packetization(packets: Packets, transport: String) throws {
    let clip = try packets.clip
    let server = try Server([(clip.path, "clip")], packets.options)
    let output = try over(transport) {
      try receive(server.url("clip"), ["--rtsp-transport", transport])
    }
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    #expect(try server.stop() == 0)
    // FFmpeg reads neither interleaved packets nor those with extensions.
    if packets == .single {
      #expect(try shown(clip, over: transport, packets.options) == clip.hashes)
    }
  }

  /// A packetization, and a clip that it can carry.
  enum Packets: String, CaseIterable {
    case single, interleaved, mtap16, mtap24, paci
    case withDecodingOrder = "interleaved H.265"

    var clip: Clip {
      get throws {
        switch self {
        case .paci, .withDecodingOrder: try Clip.h265.get()
        default: try Clip.h264.get()
        }
      }
    }

    var options: [String] {
      switch self {
      // The pictures of the clip are not cut into slices.
      case .single: ["--packetization", "single", "--packet-size", "60000"]
      case .withDecodingOrder: ["--packetization", "interleaved"]
      default: ["--packetization", rawValue]
      }
    }
  }

  @Test(
    "sound of every kind, to FFmpeg", arguments: ["aac", "opus", "pcmu", "g722", "l16"],
    ["tcp", "udp"])
  func sound(format: String, transport: String) throws {
    // Over UDP FFmpeg would not show all that comes before the goodbye.
    let isEndless = transport == "udp"
    let server = try Server(
      [("pattern", "live")],
      ["--audio", format] + (isEndless ? [] : ["--frames", "60"]) + Self.small)
    let listing = try over(transport) {
      try FFmpeg.output(
        ["-rtsp_transport", transport, "-i", server.url("live"), "-map", "0"]
          + Self.taking(isEndless ? 60 : nil) + ["-f", "framemd5", "-"])
    }
    let lines = String(decoding: listing, as: UTF8.self).split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("0,") } == 60)
    // Two seconds of it, in frames of up to 23 ms.
    #expect(lines.count { $0.hasPrefix("1,") } > 40, "\(lines)")
    #expect(try server.stop() == 0)
  }

  @Test("by IPv6, and by IPv4 at an address for both", arguments: ["tcp", "udp"])
  func addresses(transport: String) throws {
    let clip = try Clip.h264.get()
    for address in ["[::1]", "127.0.0.1"] {
      let hashes = try shown(clip, over: transport, listeningOn: "[::]", at: address)
      #expect(hashes == clip.hashes, "\(address)")
    }
  }

  @Test(
    "rtp-recv, with TLS, a login, and a key in the description", arguments: ["digest", "sha-256"])
  func secrets(method: String) throws {
    let clip = try Clip.h264.get()
    let certificates = try Certificates.shared.get()
    let key = try Scratch.path("key")
    let bytes = Data((0..<30).map { UInt8($0) }).base64EncodedString()
    try "AES_CM_128_HMAC_SHA1_80 \(bytes)\n".write(toFile: key, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    let server = try Server(
      [(clip.path, "clip")],
      ["--certificate", certificates.good, "--key", certificates.key, "--srtp-key-file", key]
        + ["--accounts", try Self.accounts(), "--auth", method], scheme: "rtsps")
    let output = try receive(
      server.url("clip", scheme: "rtsps", user: "viewer@"),
      ["--tls-ca", certificates.authority], environment: ["RTP_RECV_PASSWORD": "canary"])
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    #expect(try server.stop() == 0)
    #expect(!server.process.standardError.contains("canary"))
    #expect(!server.process.standardError.contains(bytes))
  }

  @Test("nothing in clear, where TLS was asked for and there is no key")
  func clear() throws {
    let certificates = try Certificates.shared.get()
    let server = try Server(
      [("pattern", "live")],
      ["--certificate", certificates.good, "--key", certificates.key] + Self.small,
      scheme: "rtsps")
    for (transport, isServed) in [("udp", false), ("tcp", true)] {
      let receiver = try RunningProcess(
        Product.rtpRecv,
        [server.url("live", scheme: "rtsps"), "--tls-ca", certificates.authority]
          + ["--rtsp-transport", transport, "--frames", "10", "-o", Scratch.path("y4m")])
      #expect(try (receiver.waitForExit() == 0) == isServed, "\(receiver.standardError)")
    }
    #expect(try server.stop() == 0)
  }

  @Test("a live stream with sound, to several clients at once, each in its own way")
  func live() throws {
    let server = try Server(
      [("pattern", "live")], ["--audio", "aac", "--feedback", "nack,pli"] + Self.small)
    let receivers = try ["tcp", "udp", "tcp", "udp"].map { transport in
      let output = try Scratch.path("h264")
      let receiver = try RunningProcess(
        Product.rtpRecv,
        [server.url("live"), "--rtsp-transport", transport, "--frames", "60", "--stats", "-"]
          + ["-o", output])
      // The others come while the first one watches.
      _ = try receiver.waitForLine(#/"frames":/#)
      return (receiver, output)
    }
    for (receiver, output) in receivers {
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      let statistics = try Statistics(lastLineOf: receiver)
      #expect(statistics["rtp", "lost"] == 0)
      #expect(try FFmpeg.frameHashes(of: output).count >= 60)
    }
    #expect(try server.stop() == 0)
  }

  /// One of several films is silent.
  @Test("the sound of files goes where there is some")
  func soundOfSome() throws {
    let (film, silent) = (try Self.film.get(), try Clip.h264.get())
    let server = try Server([(film, "film"), (silent.path, "silent")], ["--audio", "copy"])
    let counts = try ["film", "silent"].map { name in
      let text = try FFmpeg.output(
        ["-rtsp_transport", "tcp", "-i", server.url(name), "-t", "1", "-map", "0"]
          + ["-c", "copy", "-f", "framehash", "-"])
      return String(decoding: text, as: UTF8.self).split(separator: "\n")
        .count { $0.hasPrefix("#codec_id") }
    }
    #expect(counts == [2, 1])
    #expect(try server.stop() == 0)
    let words = server.process.standardError
    #expect(words.contains("there is no sound in \(silent.path); its pictures"), "\(words)")
  }

  @Test("the sound of files that have none is no sound")
  func soundOfNone() throws {
    let silent = try Clip.h264.get().path
    let address = "rtsp://127.0.0.1:0"
    let process = try RunningProcess(
      Product.rtpSend,
      [silent, "\(address)/a", silent, "\(address)/b", "--audio", "copy"])
    #expect(try process.waitForExit() == 1)
    let words = process.standardError
    #expect(words.contains("there is no sound in \(silent) and in \(silent)"), "\(words)")
  }

  @Test("a client that comes later may want the sound alone")
  func soundAlone() throws {
    let server = try Server([("pattern", "live")], ["--audio", "pcma"] + Self.small)
    let viewer = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--rtsp-transport", "tcp", "-o", Scratch.path("h264"), "--stats", "-"])
    _ = try viewer.waitForLine(#/"codec":"h264"/#)
    for transport in ["tcp", "udp"] {
      let output = try Scratch.path("wav")
      let listener = try RunningProcess(
        Product.rtpRecv,
        [server.url("live"), "--stream", "1", "--rtsp-transport", transport, "-o", output]
          + ["--timeout", "20"])
      // Of 16 bits.
      try waitUntil("half a second is written") { Scratch.size(of: output) > 8000 }
      listener.send(signal: SIGINT)
      #expect(try listener.waitForExit() == 0, "\(listener.standardError)")
    }
    viewer.send(signal: SIGINT)
    #expect(try viewer.waitForExit() == 0)
    #expect(try server.stop() == 0)
  }

  @Test(
    "a chosen video plays without its sound, and whoever would have it is told once",
    arguments: [("mp4", [], 1), ("h264", [], 0), ("mp4", ["--quiet"], 0)]
      as [(String, [String], Int)])
  func videoAlone(ending: String, options: [String], count: Int) throws {
    let server = try Server([("pattern", "live")], ["--audio", "pcma"] + Self.small)
    let viewer = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--stream", "0", "-o", Scratch.path(ending), "--frames", "10"] + options)
    #expect(try viewer.waitForExit() == 0, "\(viewer.standardError)")
    #expect(try server.stop() == 0)
    let said = viewer.standardError.split(separator: "\n")
    let words = "the sound is left out, because --stream chooses one stream"
    #expect(said.filter { $0.contains(words) }.count == count, "\(viewer.standardError)")
  }

  @Test("a stream's end is the end of its clients, and of a server that serves once")
  func end() throws {
    let server = try Server(
      [("pattern", "live")], ["--frames", "40", "--once"] + Self.small)
    let output = try receive(server.url("live"), ["--rtsp-transport", "udp"])
    #expect(try FFmpeg.frameHashes(of: output).count == 40)
    #expect(try server.process.waitForExit() == 0)
  }

  @Test(
    "lost packets are sent again, or corrected",
    arguments: [
      "--feedback nack", "--feedback nack --retransmission-payload-type 99", "--fec ulpfec:100,5",
      "--fec flexfec:100,5",
    ])
  func repair(option: String) throws {
    let clip = try Clip.h264.get()
    let server = try Server(
      [(clip.path, "clip")],
      ["--loss", "0.01", "--seed", "3"] + option.split(separator: " ").map(String.init))
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("clip"), "--rtsp-transport", "udp", "--stats", "-", "-o", Scratch.path("y4m")])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let statistics = try Statistics(lastLineOf: receiver)
    let isCorrected = option.hasPrefix("--fec")
    #expect(
      isCorrected
        ? statistics["rtp", "recovered"] > 0 : statistics["rtp", "repair", "arrived"] > 0)
    #expect(try server.stop() == 0)
  }

  @Test("to a multicast group", .enabled(if: NeighbouringMachine.works))
  func multicast() throws {
    let machine = try NeighbouringMachine()
    let server = try Server(
      [("pattern", "live")], ["--multicast", "239.255.42.9:6000"] + Self.small,
      host: machine.address, on: machine)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--rtsp-transport", "multicast", "--interface", machine.interface]
        + ["--frames", "30", "--stats", "-", "-o", Scratch.path("y4m")])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try Statistics(lastLineOf: receiver)["rtp", "lost"] == 0)
  }

  @Test(
    "what does not fit is said",
    arguments: [
      (
        ["pattern", "udp://127.0.0.1:9", "pattern", "udp://127.0.0.1:9"],
        "only rtsp:// takes several"
      ),
      (["pattern", "udp://127.0.0.1:9", "--lost", "5"], "Did you mean '--loss'?"),
      (["pattern", "udp://127.0.0.1:9", "--jitter", "2x"], "such as 20, 20ms or 0.02s"),
      (["pattern", "udp://127.0.0.1:9", "--jitter", "61s"], "0 to 60000 ms"),
      (["proxy", "rtsp://127.0.0.1:9/a", "--impaired=5"], "Unknown option '--impaired'."),
      (["pattern", "rtsp://:0/a", "pattern", "rtsp://:0/a"], "two sources have the name 'a'"),
      (["pattern", "rtsp://:0/a", "pattern", "rtsp://:1/b"], "at the same rtsp://"),
      (["pattern", "rtsp://:0/a", "pattern"], "each SOURCE needs a DESTINATION"),
      (["pattern", "rtsps://:0/a"], "rtsps:// needs --certificate and --key"),
      (["pattern", "rtsp://:0/a", "--certificate", "a", "--key", "b"], "see rtsps://"),
      (["pattern", "rtsp://:0/a", "--auth", "basic"], "without --accounts"),
      (["pattern", "udp://127.0.0.1:9", "--accounts", "x"], "no effect without rtsp://"),
      (["pattern", "rtsp://:0/a", "--hello", "x"], "--hello has no effect with rtsp://"),
      (["pattern", "rtsp://:0/a", "--sdp", "x"], "describes its streams itself"),
      (["film.mp4", "rtsp://:0/a", "--loop", "3"], "'forever' with rtsp://"),
      (["film.mp4", "rtsp://:0/a", "--follow-only", "b"], "takes the name of a file"),
      (["pattern", "rtsp://:0/a", "--follow-only", "a"], "takes the name of a file"),
      (["film.mp4", "udp://127.0.0.1:9", "--follow-only", "a"], "takes the name of a file"),
      (["film.mp4", "rtsp://:0/a", "--follow-only", "a", "--follow"], "leave one out"),
      (
        ["film.mp4", "rtsp://:0/a", "--follow-only", "a", "--loop", "forever"],
        "no effect with --follow"
      ),
      (["pattern", "rtsp://:0/a", "--multicast", "239.1.1.1:5001"], "--multicast"),
      (["pattern", "rtsp://:0/a", "--multicast", "10.1.1.1:5000"], "--multicast"),
      (["pattern", "rtsp://:0/a", "--accounts", "/dev/null"], "names nobody"),
      (
        ["film.mp4", "rtsp://:0/a", "--ssrc", "1", "--srtp-key-file", "k"],
        "--ssrc cannot be chosen with --srtp-key-file"
      ),
      (
        ["pattern", "http://:0", "--ssrc", "1", "--srtp-key-file", "k"],
        "--ssrc cannot be chosen with --srtp-key-file"
      ),
      (
        ["pattern", "listen://:0", "--ssrc", "1", "--srtp-key-file", "k"],
        "--ssrc with --srtp-key-file is for one client"
      ),
    ])
  func mistakes(arguments: [String], said: String) throws {
    let sender = try RunningProcess(Product.rtpSend, arguments)
    #expect(try sender.waitForExit() != 0)
    #expect(sender.standardError.contains(said), "\(sender.standardError)")
  }

  @Test func accountsAreForTheirOwnerAlone() throws {
    let path = try Self.accounts()
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let sender = try RunningProcess(
      Product.rtpSend, ["pattern", "rtsp://127.0.0.1:0/a", "--accounts", path])
    #expect(try sender.waitForExit() == 1)
    #expect(sender.standardError.contains("chmod 600"), "\(sender.standardError)")
  }

  static func accounts() throws -> String {
    let path = try Scratch.path("accounts")
    try "viewer:canary\n".write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    return path
  }

  /// Receives a stream to its end.
  private func receive(
    _ url: String, _ options: [String], environment: [String: String] = [:]
  ) throws -> String {
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, [url, "-o", output] + options, environment: environment)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    return output
  }
}
