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
      ["--codec", codec.rawValue, "--stats", "-", "--timeout", "3"])
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
      ["udp://127.0.0.1:\(proxy.port)", "--feedback", "nack,pli", "-o", output, "--stats", "-"])
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
      to: server.port, scheme: "rtsp", plan: "0 delay 10ms jitter 2ms\n1-2 lose 1 of 20", seed: 5,
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

  @Test func whatIsOnItsWayWhenTheServerEndsStillComes() throws {
    let server = try RunningProcess(
      "python3",
      [
        "-c",
        """
        import socket
        listener = socket.create_server(("127.0.0.1", 0))
        print("ready", listener.getsockname()[1], flush=True)
        listener.accept()[0].sendall(b"$\\0\\0\\4last")
        """,
      ])
    let port = try #require(UInt16(server.waitForLine(#/ready (\d+)/#).1))
    let proxy = try ImpairingProxy(to: port, scheme: "rtsp", plan: "0 delay 300ms")
    let client = try RunningProcess.output(
      of: "python3",
      [
        "-c",
        """
        import socket, sys
        server = socket.create_connection(("127.0.0.1", \(proxy.port)))
        while part := server.recv(100): sys.stdout.buffer.write(part)
        """,
      ])
    #expect(client == Data([0x24, 0, 0, 4]) + Data("last".utf8))
    #expect(try proxy.stop() == 0)
  }

  @Test func aServerThatIsNotThereEndsTheClient() throws {
    let proxy = try ImpairingProxy(to: FreePort.tcp(), scheme: "rtsp")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtsp://127.0.0.1:\(proxy.port)/stream", "--timeout", "5"])
    #expect(try receiver.waitForExit() != 0)
    #expect(try proxy.stop() == 0)
  }

  @Test(arguments: [
    (["udp://127.0.0.1:0", "rtsp://127.0.0.1:5"], "both be udp:// or both rtsp://"),
    (["udp://127.0.0.1:0"], "target"), (["udp://:0", "udp://:5"], "needs a host"),
    (["udp://:0", "udp://127.0.0.1:5", "--quirk", "padding"], "a proxy has none"),
    (["http://:0", "udp://127.0.0.1:5"], "takes udp://HOST:PORT or rtsp://HOST:PORT"),
  ])
  func mistakes(arguments: [String], words: String) throws {
    let proxy = try RunningProcess(Product.rtpSend, ["proxy"] + arguments)
    #expect(try proxy.waitForExit() == 64)
    #expect(proxy.standardError.contains(words), "\(proxy.standardError)")
  }
}
