import Foundation
import TestSupport
import Testing

/// `rtp-send proxy` between peers: what it does is in its log, and nothing else happens.
@Suite(.serialized) struct ProxyTests {
  private static let plan = "0.3-2 loss 4%, duplicate 2%\n1-2 reorder 10% 4 within 20ms"

  /// The verdicts about media on its way to the client or the receiver, by their stages.
  private static func stages(
    in log: String, of flow: (String) -> Bool
  ) throws -> [String: Int] {
    var stages: [String: Int] = [:]
    for line in try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") {
      let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
      let verdict = try #require(value as? [String: Any])
      guard let name = verdict["flow"] as? String, flow(name), verdict["sequence"] != nil,
        let stage = verdict["stage"] as? String
      else { continue }
      stages[stage, default: 0] += 1
    }
    return stages
  }

  @Test("FFmpeg sends through it", arguments: Clip.Codec.allCases)
  func ffmpeg(codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let (receiver, port) = try CommandTests.listener(
      ["--codec", codec.rawValue, "--stats", "-", "--timeout", "10", "--reorder-window", "2000"])
    let log = try Scratch.path("log")
    let proxy = try ImpairingProxy(to: port, plan: Self.plan, seed: 3, options: ["--log", log])
    let sender = try RunningProcess(
      "ffmpeg",
      ["-v", "error", "-re", "-i", clip.container, "-c", "copy", "-f", "rtp"]
        + ["rtp://127.0.0.1:\(proxy.port)?pkt_size=600"])
    try sender.waitForExit()
    try receiver.waitForExit()
    #expect(try proxy.stop() == 0)
    let stages = try Self.stages(in: log) { $0.hasPrefix("from") }
    let received = try Statistics(lastLineOf: receiver)
    #expect(stages["loss", default: 0] > 0 && stages["reordering", default: 0] > 0)
    #expect(received["rtp", "lost"] == stages["loss"])
    #expect(received["rtp", "duplicate"] == stages["duplication"])
    #expect(proxy.process.standardError.contains("forwarded"))
    #expect(!proxy.process.standardError.contains("this machine lost"))
  }

  /// A hello and requests go one way, media and repairs the other.
  @Test func whatIsLostIsAskedForThroughIt() throws {
    let (sender, address) = try CommandTests.server(
      ["--feedback", "nack,pli", "--frames", "120", "--once"])
    let port = try #require(UInt16(address.split(separator: ":").last ?? ""))
    let totals = try Scratch.path("json")
    let proxy = try ImpairingProxy(
      to: port, plan: "0.3-3 loss 3%\n0 delay 5ms", seed: 4, options: ["--stats", totals])
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://127.0.0.1:\(proxy.port)", "--feedback", "nack,pli", "-o", output, "--stats", "-"]
        + RepairTests.patience)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(try proxy.stop() == 0)
    let received = try Statistics(lastLineOf: receiver)
    #expect(received["rtp", "repaired"] > 0)
    #expect(try FFmpeg.frameHashes(of: output).count == 120)
    let said = try Statistics(lineIn: totals)
    #expect(said["clients"] == 1 && said["own_losses"] == 0 && said["lost"] > 0)
  }

  @Test("GStreamer's RTSP server behind it", arguments: ["udp", "tcp"])
  func rtsp(transport: String) throws {
    let clip = try Clip.h264.get()
    let server = try GStreamerServer(clip, ["--auth", "digest"])
    let log = try Scratch.path("log")
    let proxy = try ImpairingProxy(
      to: server.port, scheme: "rtsp", plan: "0 delay 10ms jitter 2ms\n0.5-2.5 lose 1 of 20",
      seed: 5,
      options: ["--log", log])
    let output = try Scratch.path("y4m")
    let user = "\(GStreamerServer.user):\(GStreamerServer.password)@"
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtsp://\(user)127.0.0.1:\(proxy.port)/stream", "--rtsp-transport", transport]
        + ["-o", output, "--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try proxy.stop() == 0)
    let stages = try Self.stages(in: log) { $0.hasPrefix("to") }
    let received = try Statistics(lastLineOf: receiver)
    #expect(stages["loss", default: 0] >= 5)
    #expect(received["rtp", "lost"] == stages["loss"])
    #expect(try FFmpeg.frameHashes(of: output).count > clip.frames / 2)
  }

  @Test("without a plan nothing changes", arguments: ["udp", "tcp"])
  func aGoodNetwork(transport: String) throws {
    let clip = try Clip.h265.get()
    let server = try GStreamerServer(clip)
    let proxy = try ImpairingProxy(to: server.port, scheme: "rtsp")
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtsp://127.0.0.1:\(proxy.port)/stream", "--rtsp-transport", transport, "-o", output])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    #expect(try proxy.stop() == 0)
  }

  @Test("FFmpeg plays an RTSP server behind it", arguments: ["udp", "tcp"])
  func ffmpegPlays(transport: String) throws {
    let clip = try Clip.h264.get()
    let server = try GStreamerServer(clip)
    let proxy = try ImpairingProxy(to: server.port, scheme: "rtsp", plan: "0 delay 5ms")
    let hashes = try FFmpeg.frameHashes(
      of: "rtsp://127.0.0.1:\(proxy.port)/stream", options: ["-rtsp_transport", transport],
      conversion: ["-frames:v", "200"])
    #expect(hashes == Array(clip.hashes.prefix(200)))
    #expect(try proxy.stop() == 0)
  }

  /// One connection to a port of 127.0.0.1, whose bytes `answer` has to do with.
  private static func server(_ answer: String) throws -> (RunningProcess, port: UInt16) {
    let server = try RunningProcess(
      "python3",
      [
        "-c",
        """
        import socket
        listener = socket.create_server(("127.0.0.1", 0))
        print("ready", listener.getsockname()[1], flush=True)
        connection = listener.accept()[0]
        \(answer)
        """,
      ])
    return (server, try #require(UInt16(server.waitForLine(#/ready (\d+)/#).1)))
  }

  @Test func whatIsOnItsWayWhenTheServerEndsStillComes() throws {
    // More than sockets hold, so that a slow client still reads when the server has ended.
    let server = try Self.server(
      "for n in range(400): connection.sendall(b'$\\0\\x40\\0' + bytes(0x4000 - 4) + b'last')")
    let proxy = try ImpairingProxy(to: server.port, scheme: "rtsp", plan: "0 delay 300ms")
    let client = try RunningProcess.output(
      of: "python3",
      [
        "-c",
        """
        import socket, sys, time
        server = socket.create_connection(("127.0.0.1", \(proxy.port)))
        time.sleep(1)
        while part := server.recv(65536): sys.stdout.buffer.write(part)
        """,
      ])
    #expect(client.count == 400 * 0x4004)
    #expect(client.suffix(4) == Data("last".utf8))
    #expect(try proxy.stop() == 0)
  }

  /// What a camera or a player that pushes its stream has sent before it ended.
  @Test func whatIsOnItsWayWhenTheClientEndsStillComes() throws {
    let (server, port) = try Self.server(
      "while part := connection.recv(100): print(part, flush=True)")
    let proxy = try ImpairingProxy(to: port, scheme: "rtsp", plan: "0 delay 300ms")
    _ = try RunningProcess.output(
      of: "python3",
      [
        "-c",
        """
        import socket
        server = socket.create_connection(("127.0.0.1", \(proxy.port)))
        server.sendall(b"$\\0\\0\\4last")
        """,
      ])
    try server.waitForExit()
    #expect(String(decoding: server.standardOutput, as: UTF8.self).contains("last"))
    #expect(try proxy.stop() == 0)
  }

  /// Each SETUP for UDP opens four sockets.
  @Test(arguments: ["n", "1"]) func aThousandSetupsTakeFewSockets(number: String) throws {
    let (server, port) = try Self.server(
      "while connection.recv(65536): pass")
    let proxy = try ImpairingProxy(to: port, scheme: "rtsp")
    let client = try RunningProcess(
      "python3",
      [
        "-c",
        """
        import os, socket
        server = socket.create_connection(("127.0.0.1", \(proxy.port)))
        def wanted(n): return (
          f"SETUP rtsp://x/{n} RTSP/1.0\\r\\nCSeq: {\(number)}\\r\\n"
          "Transport: RTP/AVP;unicast;client_port=4000-4001\\r\\n\\r\\n").encode()
        most = 0
        for n in range(1000):
          server.sendall(wanted(n))
          most = max(most, len(os.listdir("/proc/\(proxy.process.processIdentifier)/fd")))
        print("most", most)
        """,
      ])
    let most = try client.waitForLine(#/most (\d+)/#).1
    #expect(try #require(Int(most)) < 120)
    try server.waitForExit()
    #expect(try proxy.stop() == 0)
  }

  /// The sender alone, and another one through a proxy; nobody listens where they send to.
  @Test func theSameSeedDoesTheSameInBothPrograms() throws {
    let plan = try Scratch.path("plan")
    try "0 loss 4%, burst-loss 3% 4, corrupt 2%, duplicate 3%, reorder 5% 4".write(
      toFile: plan, atomically: true, encoding: .utf8)
    let sending = ["pattern", "--size", "320x240", "--frames", "40", "--packet-size", "200"]
    func verdicts(in log: String) throws -> [String] {
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap { line in
        // Without its time, its flow and how long it takes, which are of each run.
        line.firstMatch(of: #/"sequence":.*"stage":"[a-z]+"(,"reason":"[a-z ]+")?/#)
          .map { String($0.0) }
      }
    }
    let alone = try Scratch.path("log")
    let sender = try RunningProcess(
      Product.rtpSend,
      sending + ["udp://127.0.0.1:9", "--seed", "6", "--no-rtcp", "--quiet"]
        + ["--plan", plan, "--log", alone])
    try sender.waitForExit()
    let behind = try Scratch.path("log")
    let proxy = try ImpairingProxy(
      to: 9, plan: String(contentsOfFile: plan, encoding: .utf8), seed: 6,
      options: ["--log", behind])
    let other = try RunningProcess(
      Product.rtpSend,
      sending + ["udp://127.0.0.1:\(proxy.port)", "--seed", "6", "--no-rtcp", "--quiet"])
    #expect(try other.waitForExit() == 0)
    let expected = try verdicts(in: alone)
    #expect(expected.count > 300 && expected.contains { $0.contains("burst") })
    // The proxy may not have read the last packets yet.
    try waitUntil("the proxy has said as much") {
      try verdicts(in: behind).count >= expected.count
    }
    #expect(try proxy.stop() == 0)
    #expect(try verdicts(in: behind) == expected)
  }

  @Test func aServerThatIsNotThereEndsTheClient() throws {
    let proxy = try ImpairingProxy(to: 9, scheme: "rtsp")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtsp://127.0.0.1:\(proxy.port)/stream", "--timeout", "5"])
    #expect(try receiver.waitForExit() != 0)
    #expect(try proxy.stop() == 0)
    #expect(proxy.process.standardError.contains("could not reach the server"))
  }

  @Test(arguments: ["udp", "rtsp"]) func aPortThatIsTakenIsNamed(scheme: String) throws {
    let first = try ImpairingProxy(to: 9, scheme: scheme)
    // The port above is that of RTCP.
    let port = first.port + (scheme == "udp" ? 1 : 0)
    let second = try RunningProcess(
      Product.rtpSend, ["proxy", "\(scheme)://127.0.0.1:\(port)", "\(scheme)://127.0.0.1:9"])
    #expect(try second.waitForExit() == 2)
    #expect(second.standardError.contains("127.0.0.1:\(port): cannot listen there"))
    #expect(try first.stop() == 0)
  }

  @Test(arguments: [
    (["udp://127.0.0.1:0", "rtsp://127.0.0.1:5"], "both be udp:// or both rtsp://"),
    (["udp://127.0.0.1:0"], "target"), (["udp://:0", "udp://:5"], "needs a host"),
    (
      ["udp://:0", "udp://127.0.0.1:5", "--quirk", "empty-units"],
      "empty-units is of those who make the packets"
    ),
    (
      ["udp://:0", "udp://127.0.0.1:5", "--quirk", "no-cseq"],
      "no-cseq is of the answers of RTSP servers"
    ),
    (["udp://:5004", "udp://localhost:5005"], "where the proxy itself listens"),
    (["rtsp://127.0.0.1:8554", "rtsp://127.0.0.1:8554"], "where the proxy itself listens"),
    (["udp://239.1.1.1:5004", "udp://127.0.0.1:5"], "multicast goes past a proxy"),
    (["udp://[ff02::5]:5004", "udp://127.0.0.1:5"], "multicast goes past a proxy"),
    (["http://:0", "udp://127.0.0.1:5"], "takes udp://HOST:PORT or rtsp://HOST:PORT"),
  ])
  func mistakes(arguments: [String], words: String) throws {
    let proxy = try RunningProcess(Product.rtpSend, ["proxy"] + arguments)
    #expect(try proxy.waitForExit() == 64)
    #expect(proxy.standardError.contains(words), "\(proxy.standardError)")
  }
}
