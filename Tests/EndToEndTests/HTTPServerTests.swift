import Foundation
import TestSupport
import Testing

/// `rtp-recv http://…` against `rtp-send`, alone and behind nginx, and with `curl` in its place:
/// the frames equal FFmpeg's.
@Suite(.serialized)
struct HTTPServerTests {
  private func receive(
    _ source: String, _ options: [String] = [], environment: [String: String] = [:]
  ) throws -> (process: RunningProcess, status: Int32, hashes: [String]) {
    let output = try Scratch.path("y4m")
    let process = try RunningProcess(
      Product.rtpRecv, [source, "-o", output, "--stats", "-"] + options,
      environment: environment)
    let status = try process.waitForExit()
    return (process, status, try FFmpeg.frameHashes(of: output))
  }

  @Test("straight from the server", arguments: Clip.Codec.allCases)
  func direct(codec: Clip.Codec) throws {
    let clip = try Clip.of(codec)
    let server = try SendingServer(clip.container, ["--speed", "4"])
    let (process, status, hashes) = try receive(server.url)
    #expect(status == 0, "\(process.standardError)")
    #expect(hashes == clip.hashes)
    #expect(try Statistics(lastLineOf: process)["rtp", "lost"] == 0)
  }

  static let ways: [(name: String, protocols: String, settings: [String])] = [
    ("buffering", "", ["proxy_buffering on;"]),
    ("not buffering", "", ["proxy_buffering off;"]),
    ("encrypting", "ssl", ["proxy_buffering off;"]),
    ("over HTTP/2", "ssl http2", ["proxy_buffering off;"]),
    (
      "in small buffers", "",
      ["proxy_buffer_size 1k;", "proxy_buffers 4 1k;", "proxy_busy_buffers_size 2k;"]
    ),
  ]

  @Test("behind nginx", arguments: ways)
  func behindNginx(way: (name: String, protocols: String, settings: [String])) throws {
    let clip = try Clip.of(.h264)
    let server = try SendingServer(clip.container, ["--speed", "4"])
    let proxy = try NginxProxy(
      for: "http://127.0.0.1:\(server.port)", protocols: way.protocols, settings: way.settings)
    let authority = try Certificates.shared.get().authority
    let isSecure = !way.protocols.isEmpty
    let (process, status, hashes) = try receive(
      proxy.url(scheme: isSecure ? "https" : "http"),
      isSecure ? ["--tls-ca", authority] : [],
      // The environment's proxy was not requested.
      environment: ["http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"])
    #expect(status == 0, "\(process.standardError)")
    #expect(hashes == clip.hashes)
  }

  @Test("streams of one server over HTTP/2 have a connection each")
  func fleetOverHTTP2() throws {
    let server = try SendingServer("pattern", ["--size", "320x240"])
    let proxy = try NginxProxy(
      for: "http://127.0.0.1:\(server.port)", protocols: "ssl http2",
      settings: ["proxy_buffering off;"])
    let authority = try Certificates.shared.get().authority
    let (file, folder) = (try Scratch.path("yaml"), try Scratch.path("fleet"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try """
    defaults: {tls-ca: \(authority), frames: 50}
    cameras:
      first: {source: '\(proxy.url(scheme: "https"))', output: \(folder)/first.y4m}
      second: {source: '\(proxy.url(scheme: "https"))', output: \(folder)/second.y4m}
    """.write(toFile: file, atomically: true, encoding: .utf8)
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file])
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(!fleet.standardError.contains("certificate"), "\(fleet.standardError)")
    for camera in ["first", "second"] {
      #expect(try FFmpeg.frameHashes(of: "\(folder)/\(camera).y4m").count == 50)
    }
  }

  @Test func passwordsOfOtherProgramsAreLeftAlone() throws {
    let clip = try Clip.of(.h264)
    let server = try SendingServer(clip.container, ["--speed", "4"])
    let home = try Scratch.path("home")
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    try "machine 127.0.0.1 login viewer password canary-4711\n".write(
      toFile: "\(home)/.netrc", atomically: true, encoding: .utf8)
    let proxy = try NginxProxy(
      for: "http://127.0.0.1:\(server.port)",
      settings: ["if ($http_authorization) { return 404; }"])
    let (process, status, _) = try receive(proxy.url(), environment: ["HOME": home])
    #expect(status == 0, "\(process.standardError)")
  }

  static let answers: [(path: String, status: Int32, words: String)] = [
    ("gone", 12, "404 (not found); check the path"),
    ("busy", 2, "503 (unavailable), and asks to wait 20 s"),
    ("page", 12, "a web page"),
  ]

  @Test("what nginx answers otherwise is said", arguments: answers)
  func refusals(row: (path: String, status: Int32, words: String)) throws {
    let proxy = try NginxProxy(for: "http://127.0.0.1:1", settings: [])
    let (process, status, _) = try receive(proxy.url(row.path))
    #expect(status == row.status)
    #expect(process.standardError.contains(row.words), "\(process.standardError)")
  }

  @Test func aServerThatAsksForAPasswordGetsItAndNobodyElseSeesIt() throws {
    let clip = try Clip.of(.h264)
    let server = try SendingServer(clip.container, ["--speed", "4"])
    let file = try Scratch.path("htpasswd")
    try "viewer:{PLAIN}canary-4711".write(toFile: file, atomically: true, encoding: .utf8)
    let proxy = try NginxProxy(
      for: "http://127.0.0.1:\(server.port)",
      settings: ["auth_basic x;", "auth_basic_user_file \(file);"])
    let (process, status, hashes) = try receive(
      proxy.url("moved", login: "viewer:canary-4711@"), ["--verbose"])
    #expect(status == 0, "\(process.standardError)")
    #expect(hashes == clip.hashes)
    #expect(process.standardError.contains("the password was sent unencrypted"))
    let (refused, refusal, _) = try receive(proxy.url("moved", login: "viewer:canary-4712@"))
    #expect(refusal == 3)
    let said = [process, refused].map {
      $0.standardError + String(decoding: $0.standardOutput, as: UTF8.self)
    }
    #expect(said.allSatisfy { !$0.contains("canary") })
  }

  @Test func theStreamThatCurlSavesIsThatOfTheServer() throws {
    let clip = try Clip.of(.h264)
    let server = try SendingServer(clip.container, ["--fast"])
    let saved = try server.save()
    let output = try Scratch.path("y4m")
    let input = try RunningProcess(
      "sh", ["-c", "cat \(saved) | \(Product.rtpRecv) - -o \(output)"])
    #expect(try input.waitForExit() == 0, "\(input.standardError)")
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
  }

  @Test func aServerThatRestartsIsConnectedToAgain() throws {
    let clip = try Clip.of(.h264)
    let server = try SendingServer(clip.container, ["--speed", "4", "--once"])
    let output = try Scratch.path("y4m")
    let process = try RunningProcess(
      Product.rtpRecv,
      [server.url, "-o", output, "--reconnect", "--frames", "\(clip.frames + 10)", "--verbose"])
    #expect(try server.process.waitForExit() == 0)
    let again = try RunningProcess(
      Product.rtpSend, [clip.container, "http://127.0.0.1:\(server.port)", "--speed", "4"])
    #expect(try process.waitForExit() == 0, "\(process.standardError)")
    withExtendedLifetime(again) {}
    let hashes = try FFmpeg.frameHashes(of: output)
    #expect(hashes == clip.hashes + clip.hashes.prefix(10))
  }

  @Test func losslessCarriersStillShowWhatTheSenderLost() throws {
    let server = try SendingServer(
      "pattern",
      ["--fast", "--frames", "100", "--size", "320x240", "--loss", "0.05", "--seed", "7"])
    let (process, _, _) = try receive(server.url)
    #expect(try Statistics(lastLineOf: process)["rtp", "lost"] > 0)
  }

  @Test func packetsBehindTwoBytesOfLengthComeFromGStreamer() throws {
    let clip = try Clip.of(.h264)
    let saved = try Scratch.path("rfc4571")
    let pipeline =
      "filesrc location=\(clip.container) ! qtdemux ! h264parse config-interval=-1 ! rtph264pay "
      + "! rtpstreampay ! filesink location=\(saved)"
    let sender = try RunningProcess(
      "gst-launch-1.0", ["-q"] + pipeline.split(separator: " ").map(String.init))
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    let program = """
      import socket, sys
      server = socket.create_server(("127.0.0.1", 0))
      print("ready", server.getsockname()[1], flush=True)
      client, _ = server.accept()
      client.sendall(open(sys.argv[1], "rb").read())
      """
    let server = try RunningProcess("/usr/bin/python3", ["-c", program, saved])
    let port = try server.waitForLine(#/ready (\d+)/#).1
    let (process, status, hashes) = try receive("tcp://127.0.0.1:\(port)")
    #expect(status == 0, "\(process.standardError)")
    #expect(hashes == clip.hashes)
  }
}
