import Foundation
import TestSupport
import Testing

/// `--monitor` on a terminal, which tmux provides.
@Suite(.serialized)
struct MonitorTests {
  /// A shell on a terminal of its own.
  private final class Terminal {
    private let socket: String
    private let folder: TemporaryFolder
    private let server: RunningProcess

    init(columns: Int = 80, rows: Int = 24) throws {
      folder = try TemporaryFolder()
      socket = folder("tmux")
      // Not in the background: it would keep what Foundation waits for open.
      server = try RunningProcess("tmux", ["-u", "-D", "-f", "/dev/null", "-S", socket])
      try waitUntil("tmux is there") { FileManager.default.fileExists(atPath: socket) }
      let shell = "env -u NO_COLOR LANG=C.UTF-8 PS1='ready> ' bash --norc --noprofile"
      try tmux("new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", shell)
      try wait("the shell is there") { $0.contains("ready>") }
    }

    deinit { _ = try? tmux("kill-server") }

    @discardableResult
    private func tmux(_ arguments: String...) throws -> String {
      String(
        decoding: try RunningProcess.output(of: "tmux", ["-u", "-S", socket] + arguments),
        as: UTF8.self)
    }

    /// What stands on it.
    var screen: String { get throws { try tmux("capture-pane", "-p") } }

    /// Whether the screen is that of a shell: the usual one, with a cursor.
    var isUsual: Bool {
      get throws { try tmux("display", "-p", "#{alternate_on} #{cursor_flag}") == "0 1\n" }
    }

    func run(_ command: String) throws { try tmux("send-keys", command, "Enter") }

    func press(_ keys: String...) throws {
      for key in keys { try tmux("send-keys", key) }
    }

    func resize(columns: Int, rows: Int) throws {
      try tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    }

    func wait(_ what: String, _ condition: (String) throws -> Bool) throws {
      var last = ""
      do {
        try waitUntil(what) {
          last = try screen
          return try condition(last)
        }
      } catch let error as TimedOut {
        throw TimedOut(description: "\(error)\n\(last)")
      }
    }

    /// Waits for the shell, which then has a usual terminal.
    func expectShell(_ what: String) throws {
      try wait(what) { $0.contains(#/ready> *\n*$/#) }
      #expect(try isUsual)
      try run("clear; stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(icanon|echo)' | paste -sd ' '")
      try wait("the terminal is as before") { $0.contains("icanon echo\n") }
    }
  }

  @Test("one stream, resized, stopped and continued, until q ends it")
  func stream() throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let terminal = try Terminal()
    let output = try Scratch.path("mkv")
    // A long path would not fit.
    try terminal.run("cd '\(Scratch.folder.path)'")
    let name = URL(fileURLWithPath: output).lastPathComponent
    try terminal.run("'\(Product.rtpRecv)' '\(server.url("a"))' -o \(name) --monitor")
    try terminal.wait("there is all of it") { screen in
      screen.contains(#/^ rtsp:.*playing +0:00:\d\d/#)
        && screen.contains(#/\n rate +[1-9]\d+ kbit\/s .*█/#)
        && screen.contains(#/\n loss +0\.00 %/#) && screen.contains(#/\n jitter .* ms/#)
        && screen.contains(#/\n NAL units .*slice_idr [1-9]/#)
        && screen.contains(#/\n pictures +[1-9]\d* key/#)
        && screen.contains(#/\n output +.*mkv:/#) && screen.contains(#/\n q end the run/#)
    }
    #expect(try !terminal.isUsual)
    try terminal.resize(columns: 40, rows: 8)
    try terminal.wait("it is small") { screen in
      screen.contains(#/^ rtsp:.*playing/#) && screen.contains("rate")
        && screen.contains(#/\n q end the run\n$/#)
    }
    try terminal.resize(columns: 100, rows: 40)
    try terminal.wait("it is large") { screen in
      screen.contains("NAL units") && screen.split(separator: "\n").contains { $0.count > 90 }
    }
    try terminal.press("C-z")
    try terminal.wait("it has stopped") { $0.contains("Stopped") && $0.contains("ready>") }
    #expect(try terminal.isUsual)
    try terminal.run("fg; echo status $?")
    try terminal.wait("it goes on") { $0.contains("NAL units") }
    try terminal.press("q")
    try terminal.wait("it has ended") { screen in
      screen.contains("status 0") && screen.contains(#/rtp-recv: received \d+ packets/#)
    }
    try terminal.expectShell("the shell is back")
    #expect(try !FFmpeg.frameHashes(of: output).isEmpty)
    #expect(try server.stop() == 0)
  }

  @Test(
    "the terminal is as before, however the run ends",
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV])
  func ending(signal: Int32) throws {
    let terminal = try Terminal()
    let number = try Scratch.path("pid")
    try terminal.run(
      "sh -c 'echo $$ > \(number); exec '\(Product.rtpRecv)' rtp://127.0.0.1:0 --monitor'")
    try terminal.wait("it waits") {
      $0.contains("waiting for media") && $0.contains("listening on")
    }
    let text = try String(contentsOfFile: number, encoding: .utf8)
    kill(try #require(Int32(text.dropLast())), signal)
    try terminal.expectShell("the shell is back")
  }

  @Test("a fleet has its trouble on top, one camera in full, and asks before it ends")
  func fleet() throws {
    let server = try RTSPSendTests.Server(
      ["a", "b"].map { ("pattern", $0) }, RTSPSendTests.small)
    let file = try Scratch.path("yaml")
    try """
    cameras:
      front: {source: '\(server.url("a"))'}
      yard: {source: '\(server.url("b"))'}
      gone: {source: 'rtsp://127.0.0.1:1/x'}
    """.write(toFile: file, atomically: true, encoding: .utf8)
    let terminal = try Terminal(columns: 110, rows: 24)
    try terminal.run("'\(Product.rtpRecv)' fleet --monitor \(file); echo status $?")
    try terminal.wait("the table is there") { screen in
      let lines = screen.split(separator: "\n")
      return lines.count > 4 && lines[0].contains("2 of 3 playing")
        && lines[2].contains(#/^>gone +(re)?connecting.*refuses/#)
        && lines[3].contains(#/^ front +playing +[1-9]\d* kbit/#)
        && lines[4].contains(#/^ yard +playing/#)
    }
    try terminal.press("Down", "Down", "Enter")
    try terminal.wait("one is shown in full") { screen in
      screen.contains(#/^ yard .*playing/#) && screen.contains("NAL units")
        && screen.contains("q back to the table")
    }
    try terminal.press("q")
    try terminal.wait("the table is there again") { $0.contains(#/\n>yard/#) }
    try terminal.press("q")
    try terminal.wait("it asks") { $0.contains("End all of them?") }
    try terminal.press("n")
    try terminal.wait("it goes on") { $0.contains("enter one in full") }
    try terminal.press("q", "y")
    try terminal.wait("it has ended") { screen in
      screen.contains("status 0") && screen.contains(#/rtp-recv: front: received \d+ packets/#)
    }
    try terminal.expectShell("the shell is back")
    #expect(try server.stop() == 0)
  }

  @Test("without a terminal for it, it says so")
  func refusal() throws {
    for (command, message) in [
      ("setsid -w", "there is no terminal"),
      ("TERM=dumb", "the terminal (TERM=dumb) has only lines"),
    ] {
      let process = try RunningProcess(
        "bash",
        ["-c", "export TERM=xterm; \(command) '\(Product.rtpRecv)' rtp://127.0.0.1:0 --monitor"])
      #expect(try process.waitForExit() == 64)
      #expect(
        process.standardError.contains("--monitor cannot be shown: \(message)"),
        "\(process.standardError)")
    }
  }
}
