import Foundation
import Glibc
import TestSupport
import Testing

/// `rtp-recv fleet`: many cameras in one process.
@Suite(.serialized)
struct FleetTests {
  /// A file for a fleet, and `rtp-recv fleet` with it.
  private struct File {
    let path: String

    init(_ text: String) throws {
      path = try Scratch.path("yaml")
      try write(text)
    }

    func write(_ text: String) throws {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    func check() throws -> (status: Int32, output: String, message: String) {
      let process = try RunningProcess(Product.rtpRecv, ["fleet", "--check", path])
      let status = try process.waitForExit()
      return (
        status, String(decoding: process.standardOutput, as: UTF8.self), process.standardError
      )
    }
  }

  struct Mistake: Sendable, CustomTestStringConvertible {
    let text: String
    let message: String
    var testDescription: String { message }

    init(_ text: String, _ message: String) { (self.text, self.message) = (text, message) }
  }

  @Test(
    "a mistake is named with its line and column, and with what was meant",
    arguments: [
      Mistake("", ": it is empty"),
      Mistake("version: 1", ": it names no camera"),
      Mistake("version: 2", ":1:10: this rtp-recv reads version 1"),
      Mistake("camera: {}", ":1:1: there is no key 'camera' here; did you mean 'cameras'?"),
      Mistake(
        "cameras:\n  a:\n    source: rtp://:0\n    output: %H.mp4",
        ":4:13: a value that begins with % is put in quotes"),
      Mistake(
        "cameras:\n  a:\n    source: rtp://:0\n    output: -",
        ":4:13: a value that begins with - is put in quotes"),
      Mistake(
        "cameras:\n  a: {source: 'rtsp://localhost/a', reconnect: yes}",
        "camera 'a': 'reconnect' is true or false"),
      Mistake("cameras:\n\ta: {}", ":2:1: this line begins with a tab; YAML takes spaces only"),
      Mistake("cameras: [a", ":2:1: did not find expected ',' or ']'"),
      Mistake("cameras:\n  Door: {}", ":2:3: a camera's name has small letters"),
      Mistake("cameras:\n  door: {quiet: true}", ":2:3: camera 'door' needs a source"),
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0'}\n  a: {source: 'rtp://:0'}",
        ":3:3: there is more than one 'a'"),
      Mistake(
        "cameras:\n  a:\n    source: rtp://:0\n    # a:\n    quiet: true\n    'source': rtp://:0",
        ":6:5: there is more than one 'source'"),
      Mistake("cameras: {a: {}, a: {}}", ":1:11: there is more than one 'a'"),
      Mistake(
        "cameras:\n  a:\n    source: rtp://:0\n    segmnt: 10m",
        ":4:5: camera 'a': Unknown option '--segmnt'. Did you mean '--segment'?"),
      // An unknown key with the value false, and one behind which another lacks its sense.
      Mistake(
        "cameras:\n  a:\n    source: rtp://:0\n    reconect: false",
        ":4:5: camera 'a': Unknown option '--reconect'. Did you mean '--reconnect'?"),
      Mistake(
        "cameras:\n  a:\n    source: rtp://:0\n    segment: 10m\n    outptu: a-%Y.mp4",
        ":5:5: camera 'a': Unknown option '--outptu'. Did you mean '--output'?"),
      Mistake(
        "defaults:\n  bananas: false\ncameras:\n  a: {source: 'rtp://:0'}",
        ":2:3: camera 'a': Unknown option '--bananas'."),
      Mistake(
        "defaults:\n  stats-size: none\ncameras:\n  a: {source: 'rtp://:0'}",
        ":2:3: camera 'a': The value 'none' is invalid for '--stats-size <size>'"),
      // YAML 1.1 would take it for true.
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', quiet: yes}",
        ":2:27: camera 'a': 'quiet' is true or false"),
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', rtsp-transport: tcp}",
        ":2:27: camera 'a': --rtsp-transport has no effect with rtp://"),
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', output: -}", "a fleet has no standard output"),
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', output: a.ts}\n"
          + "  b: {source: 'rtp://:0', output: ./a.ts}",
        ":3:3: camera 'b' and camera 'a' both write ./a.ts"),
      // In a folder that is made later.
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', output: '%F/a-%H.ts'}\n"
          + "  b: {source: 'rtp://:0', output: './%F/a-%H.ts'}",
        ":3:3: camera 'b' and camera 'a' both write ./%F/a-%H.ts"),
      Mistake("serve: 9800\ncameras: {}", ":1:8: 'serve' is an address with a port"),
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', serve: '127.0.0.1:0'}",
        "'serve' is not for the cameras"),
      Mistake("cameras:\n  a: {source: 'rtp://:0', list: true}", "'list' is not for the cameras"),
      Mistake(
        "cameras:\n  a: {source: 'rtp://:0', monitor: true}", "'monitor' is not for the cameras"),
      Mistake("cameras:\n  a: {source: 'rtp://:0', output: {b: c}}", ":2:35: 'output' needs"),
      Mistake("cameras:\n  a: {source: 'rtp://:0', stats: 'fd:3'}", "name a file"),
      Mistake("cameras:\n  1: {source: 'rtp://:0'}\n  '1': {source: 'rtp://:0'}", ":3:3: there is"),
      // A forgotten space.
      Mistake(
        "cameras:\n  a: {source:rtsp://me:secret@h/x, quiet: true}", ":2:7: a key is the name"),
      Mistake("rtsp://me:secret@h/x: true", ":1:1: a key is the name of an option"),
      Mistake("cameras:\n  a: {source: --version}", ":2:7: camera 'a': a source does not begin"),
      Mistake("cameras:\n  a: {source: 'no://x'}", "'no' is not a known scheme"),
      Mistake("cameras:\n  a: {source: 'rtp://:0', credential: x}", "LoadCredential"),
    ])
  func mistake(_ mistake: Mistake) throws {
    let file = try File(mistake.text)
    let (status, output, message) = try file.check()
    #expect(status == 64)
    #expect(output.isEmpty)
    #expect(message.contains(mistake.message), "\(message)")
    #expect(message.hasPrefix("rtp-recv: \(file.path)"), "\(message)")
    #expect(!message.contains("secret"))
  }

  @Test("what is merged can be read again, and has no passwords") func merged() throws {
    let file = try File(
      """
      version: 1
      serve: 127.0.0.1:9800
      defaults:
        rtsp-transport: tcp
        stats-size: 1MiB
      cameras:
        front:
          source: rtsp://me:secret@127.0.0.1:1/x
          output: [front.mp4, "it's.h264"]
        door:
          source: udp://127.0.0.1:5004
          stats-size: 2MiB
          reconnect: false
      """)
    let (status, output, _) = try file.check()
    #expect(status == 0)
    #expect(
      output == """
        version: 1
        serve: '127.0.0.1:9800'
        cameras:
          front:
            source: 'rtsp://me@127.0.0.1:1/x'
            reconnect: true
            rtsp-transport: tcp
            stats-size: 1MiB
            output: [front.mp4, 'it''s.h264']
          door:
            source: 'udp://127.0.0.1:5004'
            reconnect: false
            stats-size: 2MiB

        """)
    try file.write(output)
    #expect(try file.check().output == output)
  }

  @Test("what all cameras have is left out where it is of no use, but a mistake is one")
  func uselessDefaults() throws {
    let cameras = """
      cameras:
        a: {source: 'rtsp://127.0.0.1:1/x', output: a.mp4}
        b: {source: 'udp://127.0.0.1:1', output: 'shm:b.ring'}
        c: {source: 'rtsp://127.0.0.1:1/x'}
      """
    let file = try File(
      "defaults: {segment: 10m, keep: 7d, rtsp-transport: tcp, every: 5s}\n" + cameras)
    let (status, output, message) = try file.check()
    #expect(status == 0, "\(message)")
    #expect(output.components(separatedBy: "segment: 10m").count == 2, "\(output)")
    #expect(output.components(separatedBy: "keep: 7d").count == 2, "\(output)")
    #expect(output.components(separatedBy: "rtsp-transport: tcp").count == 3, "\(output)")
    #expect(!output.contains("every"), "\(output)")
    try file.write("defaults: {keep: much}\n" + cameras)
    #expect(try file.check().status == 64)
    try file.write("defaults: {reconnect: true}\ncameras: {a: {source: a.pcapng}}")
    #expect(try file.check().status == 0)
    try file.write("cameras: {a: {source: a.pcapng, reconnect: true}}")
    let mistake = try file.check()
    #expect(mistake.status == 64 && mistake.message.contains(":1:"), "\(mistake.message)")
    #expect(mistake.message.contains("is for live sources"), "\(mistake.message)")
    try file.write("cameras: {c: {source: 'rtsp://127.0.0.1:1/x', segment: 10m}}")
    #expect(try file.check().status == 64)
  }

  @Test("a folder that is not there is said, and the other cameras may begin") func noFolder()
    throws
  {
    let file = try File(
      "cameras: {a: {source: 'rtsp://127.0.0.1:1/x', output: /nowhere/here/a.mp4}}")
    let (status, _, message) = try file.check()
    #expect(status == 0, "\(message)")
    #expect(message.contains("camera 'a': there is no folder /nowhere/here"), "\(message)")
    // What is published is in none.
    try file.write("cameras: {a: {source: 'rtsp://127.0.0.1:1/x', output: 'nats://127.0.0.1:1/a'}}")
    let published = try file.check()
    #expect(published.status == 0 && published.message.isEmpty, "\(published.message)")
  }

  @Test("no camera writes over the fleet's file or a password") func overwriting() throws {
    let password = try Scratch.path("password")
    try "secret".write(toFile: password, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
    for written in [nil, password] {
      let file = try File("\u{FEFF}cameras: {}")
      try file.write(
        """
        \u{FEFF}cameras:
          a: {source: 'rtp://:0', output: \(written ?? file.path), format: ts}
          b: {source: 'rtsp://me@127.0.0.1:1/x', password-file: \(password)}
        """)
      let (status, _, message) = try file.check()
      #expect(status == 64)
      #expect(message.contains(":2:3: camera 'a' would write over a file"), "\(message)")
    }
  }

  @Test("the example of --help is right, whatever folders there are") func help() throws {
    let process = try RunningProcess(
      Product.rtpRecv, ["fleet", "--help"], environment: ["COLUMNS": "200"])
    try process.waitForExit()
    let help = String(decoding: process.standardOutput, as: UTF8.self)
    let example = String(
      try #require(help.firstMatch(of: #/(?s) +version: 1\n.*?\n\n/#)).output)
    let password = try Scratch.path("password")
    try "secret".write(toFile: password, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
    let file = try File(example.replacing("/etc/rtp-recv/front.password", with: password))
    let (status, output, message) = try file.check()
    #expect(status == 0, "\(message)\n\(example)")
    #expect(output.contains("'shm:/run/rtp-recv/door.ring'"), "\(output)")
  }

  @Test("cameras that changed begin anew, and the others lose nothing") func reload() throws {
    let server = try RTSPSendTests.Server(
      ["a", "b", "c"].map { ("pattern", $0) }, RTSPSendTests.small)
    let (unchanged, changed) = (try Scratch.path("mkv"), try Scratch.path("h264"))
    let (second, new) = (try Scratch.path("h264"), try Scratch.path("mp4"))
    let figures = try Scratch.path("jsonl")
    func text(_ cameras: String) -> String {
      """
      cameras:
        a: {source: '\(server.url("a"))', output: \(unchanged), stats: \(figures)}
      \(cameras)
      """
    }
    let file = try File(
      text(
        """
          b: {source: '\(server.url("b"))', output: \(changed), verbose: true}
          gone: {source: 'rtsp://127.0.0.1:1/x', output: \(try Scratch.path("ts"))}
        """))
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file.path])
    defer { fleet.send(signal: SIGKILL) }
    // One that cannot be reached is its own trouble.
    _ = try fleet.waitForLine(#/rtp-recv: gone: .*refuses the connection/#)
    _ = try fleet.waitForLine(#/rtp-recv: b: pictures are 320x240/#)
    try waitUntil("there is a recording") { Scratch.size(of: unchanged) > 0 }

    try file.write("cameras: [")
    fleet.send(signal: SIGHUP)
    _ = try fleet.waitForLine(#/did not find expected .*; everything stays as it was/#)

    try file.write(
      text(
        """
          b: {source: '\(server.url("b"))', output: \(second)}
          c: {source: '\(server.url("c"))', output: \(new)}
        """))
    fleet.send(signal: SIGHUP)
    _ = try fleet.waitForLine(#/again: 1 unchanged, 1 changed, 1 new, 1 gone/#)
    try waitUntil("the changed and the new camera record") {
      Scratch.size(of: second) > 0 && Scratch.size(of: new) > 0
    }
    fleet.send(signal: SIGINT)
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(try server.stop() == 0)
    // Each file is whole.
    for path in [unchanged, changed, second, new] {
      #expect(try !FFmpeg.frameHashes(of: path).isEmpty)
    }
    let lines = try String(contentsOfFile: figures, encoding: .utf8).split(separator: "\n")
    let last = try #require(lines.last)
    #expect(last.contains(#""final":true"#) && last.contains(#""lost":0"#), "\(last)")
    #expect(last.contains(#""reconnects":0"#), "\(last)")
  }

  @Test("what a camera has recorded is kept by its next run, after a reload and a failure")
  func keeping() throws {
    let folder = try TemporaryFolder()
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    func text(_ option: String) -> String {
      "cameras: {a: {source: '\(server.url("a"))', output: \(folder("a.mkv")), \(option)}}"
    }
    let file = try File(text("timeout: 1"))
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file.path])
    defer { fleet.send(signal: SIGKILL) }
    try waitUntil("there is a recording") { Scratch.size(of: folder("a.mkv")) > 0 }
    try file.write(text("timeout: 2"))
    fleet.send(signal: SIGHUP)
    _ = try fleet.waitForLine(#/again: 0 unchanged, 1 changed, 0 new, 0 gone/#)
    try waitUntil("the changed one records") {
      Scratch.size(of: folder("a.0001.mkv")) > 0 && Scratch.size(of: folder("a.mkv")) > 0
    }
    let kept = try FFmpeg.frameHashes(of: folder("a.0001.mkv"))
    #expect(!kept.isEmpty)
    // The run ends for want of media, and the next ones find no server.
    #expect(try server.stop() == 0)
    _ = try fleet.waitForLine(#/rtp-recv: a: .*refuses the connection/#)
    try waitUntil("the run has ended") {
      FileManager.default.fileExists(atPath: folder("a.0002.mkv"))
    }
    fleet.send(signal: SIGINT)
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(try FFmpeg.frameHashes(of: folder("a.0001.mkv")) == kept)
    #expect(try !FFmpeg.frameHashes(of: folder("a.0002.mkv")).isEmpty)
  }

  @Test("cameras that begin together do not begin their second files together")
  func staggering() throws {
    let folder = try TemporaryFolder()
    let description = try Scratch.path("sdp")
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "http://127.0.0.1:0", "--size", "256x144", "--sdp", description]
        + ["--frames", "150", "--gop", "5", "--fast"])
    defer { sender.send(signal: SIGKILL) }
    let address = String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1)
    let cameras = ["a", "b", "c", "d"]
    let file = try File(
      """
      defaults: {reconnect: false, sdp: '\(description)', segment: 2s}
      cameras:
      \(cameras.map { "  \($0): {source: 'http://\(address)/a', output: \(folder("\($0)-%Y%m%d%H%M%S%f.mkv"))}" }
        .joined(separator: "\n"))
      """)
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file.path])
    defer { fleet.send(signal: SIGKILL) }
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder("")).sorted()
    let frames = try cameras.map { camera in
      try files.filter { $0.hasPrefix(camera) }.map { try FFmpeg.frameHashes(of: folder($0)).count }
    }
    for frames in frames { #expect(frames.reduce(0, +) == 150) }
    #expect(Set(frames.map(\.first)).count >= 3, "\(frames)")
    #expect(frames.allSatisfy { $0.first.map { (30...60).contains($0) } ?? false }, "\(frames)")
  }

  @Test("a signal while cameras begin ends at once, and connects to none of them")
  func earlySignal() throws {
    let cameras = (0..<400).map { "  c\($0): {source: 'rtp://127.0.0.1:0', verbose: true}" }
    let file = try File("cameras:\n" + cameras.joined(separator: "\n"))
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file.path])
    defer { fleet.send(signal: SIGKILL) }
    _ = try fleet.waitForLine(#/c0: listening on/#)
    fleet.send(signal: SIGTERM)
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(!fleet.standardError.contains("c399:"))
  }

  @Test("a password of systemd's is taken, also where its group may read it") func credential()
    throws
  {
    let folder = try TemporaryFolder()
    try "secret".write(toFile: folder("camera"), atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o440], ofItemAtPath: folder("camera"))
    let file = try File("cameras: {a: {source: 'rtsp://me@127.0.0.1:1/x', credential: camera}}")
    let process = try RunningProcess(
      Product.rtpRecv, ["fleet", "--check", file.path],
      environment: ["CREDENTIALS_DIRECTORY": folder.path])
    #expect(try process.waitForExit() == 0, "\(process.standardError)")
  }

  @Test("a plan with signs that would change a terminal is shown with escapes, and read again")
  func unprintableSigns() throws {
    let name = #""a\e[31m'\"\\.mp4""#
    let plan = try File("cameras: {a: {source: 'rtsp://127.0.0.1:1/x', output: \(name)}}").check()
    #expect(plan.status == 0, "\(plan.message)")
    #expect(plan.output.contains(#""a\U0000001b[31m'\"\\.mp4""#), "\(plan.output)")
    let again = try File(plan.output).check()
    #expect(again.status == 0, "\(again.message)")
    #expect(again.output == plan.output)
  }

  @Test("a changed password begins its camera anew, and one that has ended is left alone")
  func changedPassword() throws {
    let server = try RTSPSendTests.Server(
      ["a", "b"].map { ("pattern", $0) }, RTSPSendTests.small)
    let password = try Scratch.path("password")
    func write(_ text: String) throws {
      try text.write(toFile: password, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
    }
    try write("one")
    let url = server.url("a", user: "me@")
    let file = try File(
      """
      cameras:
        a: {source: '\(url)', password-file: \(password), verbose: true}
        b: {source: '\(server.url("b"))', frames: 2, reconnect: false}
      """)
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file.path])
    defer { fleet.send(signal: SIGKILL) }
    _ = try fleet.waitForLine(#/a: pictures are/#)
    _ = try fleet.waitForLine(#/b: received /#)
    try write("another")
    fleet.send(signal: SIGHUP)
    _ = try fleet.waitForLine(#/again: 1 unchanged, 1 changed, 0 new, 0 gone/#)
    fleet.send(signal: SIGINT)
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(try server.stop() == 0)
  }

  @Test("a signal while the file is read first ends at once")
  func signalWhileReading() throws {
    let path = try Scratch.path("yaml")
    try #require(mkfifo(path, 0o600) == 0)
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", path])
    var writer: Int32 = -1
    try waitUntil("the file is read") {
      writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writer >= 0
    }
    defer { close(writer) }
    fleet.send(signal: SIGTERM)
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
  }

  @Test("a fleet whose cameras have all ended ends") func ending() throws {
    let output = try Scratch.path("h264")
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let file = try File(
      """
      defaults: {reconnect: false}
      cameras:
        a: {source: '\(server.url("a"))', output: \(output), duration: 1}
      """)
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", file.path])
    defer { fleet.send(signal: SIGKILL) }
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(Scratch.size(of: output) > 0)
    #expect(try server.stop() == 0)
  }

  /// A service manager: prints what it is told, asks to reload at the first status, and to end
  /// behind that.
  private static let serviceManager = """
    import os, signal, socket, subprocess, sys
    path = "\\0rtp-recv-test-%d" % os.getpid()
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(path)
    notify.settimeout(60)
    environment = dict(os.environ, NOTIFY_SOCKET="@" + path[1:], WATCHDOG_USEC="1000000")
    fleet = subprocess.Popen(sys.argv[1:], env=environment)
    def heard(word):
        while True:
            text = notify.recv(1000).decode()
            if text.startswith(word): return text
    print(heard("READY=1"))
    print(heard("STATUS=1 of 1 cameras connected"))
    print(heard("WATCHDOG=1"))
    fleet.send_signal(signal.SIGHUP)
    print(heard("RELOADING=1").split("=")[2])
    print(heard("READY=1"))
    fleet.send_signal(signal.SIGTERM)
    print(heard("STOPPING=1"))
    print(fleet.wait(60))
    """

  @Test("systemd hears when it is ready, how many cameras are up, and that it lives")
  func service() throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let file = try File("cameras: {a: {source: '\(server.url("a"))', quiet: true}}")
    let manager = try RunningProcess(
      "/usr/bin/python3", ["-c", Self.serviceManager, Product.rtpRecv, "fleet", file.path])
    #expect(try manager.waitForExit(within: 120) == 0, "\(manager.standardError)")
    let output = String(decoding: manager.standardOutput, as: UTF8.self)
    let expected =
      #/READY=1\nSTATUS=1 of 1 cameras connected\nWATCHDOG=1\n\d+\nREADY=1\nSTOPPING=1\n0\n/#
    #expect(output.wholeMatch(of: expected) != nil, "\(output)")
    #expect(try server.stop() == 0)
  }
}
