import Foundation
import Glibc
import TestSupport
import Testing

/// Each way to give `rtp-recv` a password, with a server that wants one; nobody else can see it.
@Suite(.serialized)
struct PasswordTests {
  private static let password = GStreamerServer.password

  /// Whoever plays it is looked at meanwhile, so that it takes long.
  private static func server() throws -> GStreamerServer {
    try GStreamerServer(Clip.h264.get().slow, ["--auth", "digest"])
  }

  /// A file with the password in its first line.
  private static func file(mode: Int) throws -> String {
    let path = try Scratch.path("password")
    try Data("\(password)\nnot this\n".utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  private static func receive(
    _ url: String, _ options: [String] = [], environment: [String: String] = [:]
  ) throws -> RunningProcess {
    try RunningProcess(
      Product.rtpRecv,
      [url, "--rtsp-transport", "tcp", "-o", "/dev/null", "--format", "yuv", "--stats", "-"]
        + options, environment: environment)
  }

  private static func expectSuccess(
    of receiver: RunningProcess, isWarned: Bool = false
  ) throws {
    // While it plays, nothing that others can read shows the password.
    _ = try receiver.waitForLine(#/"frames":[1-9]/#)
    let commandLine = try Data(
      contentsOf: URL(fileURLWithPath: "/proc/\(receiver.processIdentifier)/cmdline"))
    #expect(!commandLine.isEmpty)
    #expect(!String(decoding: commandLine, as: UTF8.self).contains(password))
    let limits = try String(
      contentsOfFile: "/proc/\(receiver.processIdentifier)/limits", encoding: .utf8)
    #expect(limits.contains(#/Max core file size\s+0\s+0/#))
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("stays in the shell's history") == isWarned)
    #expect(!receiver.standardError.contains(password))
    #expect(!String(decoding: receiver.standardOutput, as: UTF8.self).contains(password))
  }

  @Test func inTheURL() throws {
    let server = try Self.server()
    try Self.expectSuccess(
      of: Self.receive(server.url(user: "viewer:\(Self.password)@")), isWarned: true)
  }

  @Test("in the URL of a proxy, in an argument of its own or not", arguments: [true, false])
  func inTheURLOfAProxy(isDivided: Bool) throws {
    let login = Data("viewer:\(Self.password)".utf8).base64EncodedString()
    let server = try SendingServer("pattern", ["--size", "320x240"])
    let proxy = try NginxProxy(
      for: "http://127.0.0.1:\(server.port)",
      settings: [
        "proxy_buffering off;",
        "if ($http_proxy_authorization != \"Basic \(login)\") { return 407; }",
      ])
    let url = proxy.url("", login: "viewer:\(Self.password)@")
    let option = isDivided ? ["--http-proxy", url] : ["--http-proxy=\(url)"]
    try Self.expectSuccess(
      of: RunningProcess(
        Product.rtpRecv,
        ["http://127.0.0.1:1/live", "-o", "/dev/null", "--format", "yuv", "--stats", "-"]
          + option))
  }

  @Test("in a file that its owner alone can read", arguments: ["viewer@", ""])
  func inAFile(user: String) throws {
    let server = try Self.server()
    let options = ["--password-file", try Self.file(mode: 0o600)]
    try Self.expectSuccess(
      of: Self.receive(
        server.url(user: user), options + (user.isEmpty ? ["--user", "viewer"] : [])))
  }

  @Test("in a file that others can read", arguments: [0o640, 0o604])
  func inAnOpenFile(mode: Int) throws {
    let path = try Self.file(mode: mode)
    let receiver = try Self.receive("rtsp://viewer@127.0.0.1:1/", ["--password-file", path])
    #expect(try receiver.waitForExit() != 0)
    #expect(receiver.standardError.contains("chmod 600 \(path)"), "\(receiver.standardError)")
    #expect(!receiver.standardError.contains(Self.password))
  }

  @Test func inAFileThatIsNotThere() throws {
    let receiver = try Self.receive("rtsp://viewer@127.0.0.1:1/", ["--password-file", "/nowhere"])
    #expect(try receiver.waitForExit() == 3)
    #expect(receiver.standardError.contains("/nowhere"), "\(receiver.standardError)")
  }

  @Test("nowhere, and there is no terminal to ask", arguments: ["viewer@", ""])
  func withoutATerminal(user: String) throws {
    let server = try Self.server()
    let receiver = try RunningProcess(
      "setsid",
      ["-w", Product.rtpRecv, server.url(user: user), "-o", "/dev/null", "--format", "yuv"])
    #expect(try receiver.waitForExit(within: 20) == 3)
    #expect(receiver.standardError.contains("RTP_RECV_PASSWORD"), "\(receiver.standardError)")
    #expect(receiver.standardError.contains("--user") == user.isEmpty)
  }

  @Test func inTheEnvironment() throws {
    let server = try Self.server()
    try Self.expectSuccess(
      of: Self.receive(
        server.url(user: "viewer@"), environment: ["RTP_RECV_PASSWORD": Self.password]))
  }

  /// What is typed, and the resulting exit status: the password, nothing, and Ctrl-C, which ends
  /// the run before it has begun.
  @Test("at a terminal", arguments: [("\(password)\n", 0), ("\u{4}", 3), ("\u{3}", 14)])
  func atATerminal(typed: String, status: Int) throws {
    let server = try Self.server()
    let input = Pipe()
    let terminal = try RunningProcess(
      "script",
      [
        "-qec",
        "\(Product.rtpRecv) \(server.url(user: "viewer@")) --frames 10 -o /dev/null --format yuv",
        "/dev/null",
      ], input: input)
    _ = try terminal.waitForLine(#/Password of viewer at /#)
    try input.fileHandleForWriting.write(contentsOf: Data(typed.utf8))
    #expect(Int(try terminal.waitForExit(within: 20)) == status)
    #expect(!String(decoding: terminal.standardOutput, as: UTF8.self).contains(Self.password))
  }

  @Test("at a terminal, which is as before when a signal comes instead")
  func signalAtATerminal() throws {
    let input = Pipe()
    // The shell says the number of the process, which takes its place, and how the terminal is set
    // afterwards.
    let terminal = try RunningProcess(
      "script",
      [
        "-qec",
        "sh -c 'echo process $$; exec \(Product.rtpRecv) rtsp://viewer@127.0.0.1:1/'; stty -a",
        "/dev/null",
      ], input: input)
    let number = try #require(Int32(terminal.waitForLine(#/process (\d+)/#).1))
    _ = try terminal.waitForLine(#/Password of viewer at /#)
    #expect(kill(number, SIGTERM) == 0)
    _ = try terminal.waitForLine(#/\s-?echo\s/#)
    try input.fileHandleForWriting.close()
    #expect(try terminal.waitForExit(within: 20) == 0)
    let output = String(decoding: terminal.standardOutput, as: UTF8.self)
    #expect(output.contains(#/\secho\s/#) && output.contains(#/\sisig\s/#), "\(output)")
  }
}
