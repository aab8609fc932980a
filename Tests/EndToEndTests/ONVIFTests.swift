import Foundation
import Glibc
import TestSupport
import Testing

/// `rtp-recv onvif://…` and `rtp-recv discover`, against services of cameras in front of
/// GStreamer's RTSP server.
@Suite(.serialized)
struct ONVIFTests {
  private static let login = "\(GStreamerServer.user):\(GStreamerServer.password)@"

  struct Case: Sendable, CustomTestStringConvertible {
    var login = "none"
    var options: [String] = []
    var codec = Clip.Codec.h264
    var profile = ""
    var transport = "tcp"

    var testDescription: String {
      (["login \(login)", codec.rawValue] + options + [profile, transport]).joined(separator: " ")
    }
  }

  @Test(
    "every frame of the stream that the camera names",
    arguments: [
      Case(), Case(login: "token", options: ["--ahead", "18000"], transport: "auto"),
      Case(login: "digest", options: ["--compressed"], profile: "/main%20stream"),
      Case(options: ["--media2"], codec: .h265, profile: "/1"), Case(transport: "http"),
    ])
  func frames(_ test: Case) throws {
    let clip = try Clip.of(test.codec)
    let server = try GStreamerServer(clip, test.login == "none" ? [] : ["--auth", "digest"])
    // The camera knows only its inner address, and gives the port of its server.
    let camera = try ONVIFCamera(
      "rtsp://192.0.2.77:\(server.port)/stream?a=1&b=2", ["--login", test.login] + test.options)
    let url = camera.url(user: test.login == "none" ? "" : Self.login, profile: test.profile)
    let (receiver, output) = try RTSPServerTests.receive(
      url, ["--rtsp-transport", test.transport, "--verbose"])
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    let said = receiver.standardError + String(decoding: receiver.standardOutput, as: UTF8.self)
    #expect(!said.contains(GStreamerServer.password))
    #expect(said.contains("the camera itself names the host '192.0.2.77'"), "\(said)")
    #expect(said.contains("ahead of this one") == test.options.contains("--ahead"))
    #expect(try Statistics(lastLineOf: receiver)["transport", "onvif_requests"] >= 4)
  }

  @Test("how the services ask for the password says nothing of the stream's next connection")
  func loginsOfTwoKinds() throws {
    let clip = try Clip.h264.get()
    let server = try GStreamerServer(clip, ["--auth", "basic"])
    let camera = try ONVIFCamera(
      "rtsp://192.0.2.77:\(server.port)/stream", ["--login", "digest"])
    // More than one connection has.
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [camera.url(user: Self.login), "--rtsp-transport", "tcp", "--reconnect"]
        + ["--frames", "\(clip.hashes.count + 5)"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
  }

  @Test("every frame of a camera by others, which tells nobody the time without a login")
  func ipycam() throws {
    let clip = try Clip.h264.get()
    let server = try GStreamerServer(clip, ["--auth", "digest"])
    let camera = try ONVIFCamera(ipycamWithStreamOn: server.port)
    let (_, output) = try RTSPServerTests.receive(camera.url(user: Self.login), [])
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes)
    _ = try Self.discover(on: "lo") { $0.text.contains("\(camera.url())  ") }
  }

  @Test("the profiles are listed, with their addresses")
  func list() throws {
    let camera = try ONVIFCamera("rtsp://192.0.2.77:5554/live", ["--login", "token"])
    let url = camera.url(user: Self.login)
    let text = try RunningProcess.output(of: Product.rtpRecv, [url, "--list"])
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    #expect(
      lines == [
        "0  video  JPEG  90000 Hz  jpeg stream  jpeg  640x360  25 fps  4096 kbit/s",
        "1  video  H264  90000 Hz  main stream  main  1920x1080  25 fps  4096 kbit/s"
          + "  rtsp://192.0.2.77:5554/live",
      ])
    let json = try RunningProcess.output(of: Product.rtpRecv, [url, "--list-json"])
    let second = try #require(json.split(separator: 0x0A).last)
    let stream = try #require(try JSONSerialization.jsonObject(with: second) as? [String: Any])
    #expect(stream["token"] as? String == "main")
    #expect(stream["width"] as? Int == 1920)
    #expect(stream["snapshot"] as? String == "http://192.0.2.77:\(camera.port)/shot.jpg")
  }

  @Test("services in HTTPS are verified, and name their certificate otherwise")
  func tls() throws {
    let certificates = try Certificates.shared.get()
    let camera = try ONVIFCamera(
      "rtsp://192.0.2.77/live",
      ["--login", "token", "--certificate", certificates.good, "--key", certificates.key])
    let url = camera.url(scheme: "onvifs", user: Self.login)
    let text = try RunningProcess.output(
      of: Product.rtpRecv, [url, "--list", "--tls-ca", certificates.authority])
    #expect(String(decoding: text, as: UTF8.self).contains("main stream"))
    let receiver = try RunningProcess(Product.rtpRecv, [url, "--list"])
    #expect(try receiver.waitForExit() == 10)
    let fingerprint = try Certificates.fingerprint(of: certificates.good)
    let digits = fingerprint.filter { $0 != ":" }.lowercased()
    let said = receiver.standardError.filter { $0 != ":" }.lowercased()
    #expect(said.contains(digits), "\(receiver.standardError)")
  }

  @Test(
    "what is wrong is said, with an exit status",
    arguments: [
      (["--login", "token"], "viewer:wrong@", "", 3, "refuses the user name or the password"),
      (["--login", "digest"], "viewer:wrong@", "", 3, "refuses the user name or the password"),
      (["--login", "token"], "", "", 3, "give the user name with --user or in the URL"),
      ([], "", "/third", 12, "no profile 'third'; there are jpeg stream, main stream"),
      (["--hostile", "bomb"], "", "", 2, "no ONVIF device"),
      (["--hostile", "endless"], "", "", 2, "an answer of more than 4194304 bytes"),
      (["--hostile", "redirects"], "", "", 11, "redirects in a circle"),
    ])
  func mistake(
    options: [String], user: String, profile: String, status: Int32, words: String
  ) throws {
    let camera = try ONVIFCamera("rtsp://192.0.2.77/live", options)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [camera.url(user: user, profile: profile), "-o", Scratch.path("y4m")])
    #expect(try receiver.waitForExit() == status, "\(receiver.standardError)")
    #expect(receiver.standardError.contains(words), "\(receiver.standardError)")
    #expect(!receiver.standardError.contains("wrong@"))
  }

  // MARK: Discovery

  private struct Found {
    let status: Int32
    let text: String
    let errors: String
  }

  private static func discover(
    on interface: String, _ options: [String] = [], for time: String = "1500ms"
  ) throws -> Found {
    let process = try RunningProcess(
      Product.rtpRecv, ["discover", "--interface", interface, "--timeout", time] + options)
    let status = try process.waitForExit()
    return Found(
      status: status, text: String(decoding: process.standardOutput, as: UTF8.self),
      errors: process.standardError)
  }

  /// Searches until what is found is what is wanted: a camera on a busy machine may answer late.
  private static func discover(
    on interface: String, _ options: [String] = [], until isWanted: (Found) throws -> Bool
  ) throws -> Found {
    var last: Found?
    try waitUntil("the camera is found; last: \(String(describing: last))") {
      let found = try discover(on: interface, options)
      last = found
      return try isWanted(found)
    }
    return try #require(last)
  }

  /// Other tests' cameras may answer too.
  @Test("a camera is found once, in words and in JSON")
  func discovery() throws {
    let camera = try ONVIFCamera("rtsp://192.0.2.77/live", ["--discoverable"])
    let line =
      "\(camera.url())  Front door  M-1  hall  http://169.254.7.7/onvif/device_service "
      + "http://127.0.0.1:\(camera.port)/onvif/device_service"
    let found = try Self.discover(on: "lo") { $0.text.contains(line) }
    #expect(found.status == 0, "\(found.errors)")
    #expect(found.text.split(separator: "\n").filter { $0 == line }.count == 1, "\(found.text)")
    let text = try Self.discover(on: "lo", ["--json"]) { $0.text.contains("\"\(camera.url())\"") }
      .text
    let objects = try text.split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
    let own = try #require(objects.first { $0?["url"] as? String == camera.url() } ?? nil)
    #expect(own["name"] as? String == "Front door")
    #expect((own["xaddrs"] as? [String])?.count == 2)
  }

  @Test("a storm of answers is bounded, and the search ends in time")
  func storm() throws {
    let camera = try ONVIFCamera(
      "rtsp://192.0.2.77/live", ["--discoverable", "--hostile", "storm"])
    let found = try Self.discover(on: "lo") { $0.status == 0 }
    #expect(found.text.split(separator: "\n").count <= 4096)
    withExtendedLifetime(camera) {}
  }

  @Test(
    "a camera in another network namespace, and none",
    .enabled(if: NeighbouringMachine.works))
  func neighbour() throws {
    let machine = try NeighbouringMachine()
    let nobody = try Self.discover(on: machine.interface, for: "0.5")
    #expect(nobody.status == 12)
    #expect(nobody.text.isEmpty)
    #expect(nobody.errors.contains("no camera has answered"), "\(nobody.errors)")
    let camera = try ONVIFCamera("rtsp://192.0.2.77/live", ["--discoverable"], on: machine)
    _ = try Self.discover(on: machine.interface) {
      $0.text.hasPrefix("\(camera.url())  Front door")
    }
  }

  @Test(arguments: [
    (["--interface", "nowhere0"], 2, "there is no network interface 'nowhere0'"),
    (["--timeout", "x"], 64, "a time is a number of seconds, or a number and its unit"),
    (["--timeout", "0"], 64, "--timeout must be more than 0, and at most 1d"),
    (["--timeout", "400d"], 64, "--timeout must be more than 0, and at most 1d"),
    (["camera"], 64, "Unexpected"),
  ])
  func whatCannotBeSearchedIsSaid(options: [String], status: Int32, words: String) throws {
    let process = try RunningProcess(Product.rtpRecv, ["discover"] + options)
    #expect(try process.waitForExit() == status)
    #expect(process.standardError.contains(words), "\(process.standardError)")
  }
}
