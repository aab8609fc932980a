import Foundation
import TestSupport
import Testing

/// What a receiver does while nothing comes, as `strace` sees it.
struct IdleTests {
  /// Not every container lets a program be traced.
  private static let mayTrace =
    (try? RunningProcess.output(of: "strace", ["-f", "-o", "/dev/null", "true"])) != nil

  /// A receiver that waits 26 seconds in vain, and the list of its system calls.
  private struct Trace {
    let process: RunningProcess
    let path: String

    init(of arguments: [String]) throws {
      path = try Scratch.path("strace")
      process = try RunningProcess(
        "strace",
        // Reading the clock is a system call on few machines.
        ["-f", "-ttt", "-e", "trace=!clock_gettime", "-o", path, Product.rtpRecv]
          + ["--timeout", "26"] + arguments)
    }

    /// Those of ten seconds behind a line that has `mark`.
    ///
    /// The first such line shows that the receiver has begun. Before five more seconds are over,
    /// libdispatch ends the threads that it needed for that.
    func calls(behind mark: String) throws -> [Substring] {
      try process.waitForExit()
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        .compactMap { line -> (time: Double, call: Substring)? in
          let words = line.split(separator: " ", maxSplits: 2)
          return words.count == 3 ? Double(words[1]).map { (time: $0, call: words[2]) } : nil
        }
      let begin = try #require(lines.first { $0.call.contains(mark) }).time
      let marked = try #require(
        lines.firstIndex { $0.time > begin + 5.5 && $0.call.contains(mark) })
      // The end of the run has calls of its own.
      let end = try min(lines[marked].time + 10, #require(lines.last).time - 3)
      // What does not return at once is listed again when it does.
      return lines[(marked + 1)...].filter { $0.time < end }.map { $0.call }
        .filter { $0.contains(" = ") && !$0.hasSuffix("<unfinished ...>") }
    }
  }

  /// Between hellos, and between the keep-alives of RTSP, which come every 30 seconds.
  ///
  /// A hello, a heartbeat or a report of RTCP makes four: the timer wakes epoll(7), and is read,
  /// something is sent, and the timer is set anew.
  @Test(
    "a receiver to which nothing comes makes at most two system calls a second",
    .enabled(if: mayTrace, "programs may not be traced here"))
  func silence() throws {
    let program = """
      import signal, socket
      server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      server.bind(("127.0.0.1", 0))
      print("ready", server.getsockname()[1], flush=True)
      signal.pause()
      """
    let listener = try RunningProcess("/usr/bin/python3", ["-c", program])
    let port = try listener.waitForLine(#/ready (\d+)/#).1
    let plan = try Scratch.path("plan")
    try "0 silence".write(toFile: plan, atomically: true, encoding: .utf8)
    let server = try RTSPSendTests.Server(
      [("pattern", "cam")], RTSPSendTests.small + ["--plan", plan])
    // At the same time, because each takes its time.
    let client = try Trace(of: ["udp://127.0.0.1:\(port)", "--heartbeat-interval", "60"])
    let player = try Trace(of: [server.url("cam"), "--rtsp-transport", "tcp"])
    let byUDP = try client.calls(behind: #""Hello""#)
    // A report of RTCP on channel 1 of the connection.
    let byRTSP = try player.calls(behind: #""$\1"#)
    #expect(byUDP.count <= 20, "\(byUDP.joined(separator: "\n"))")
    #expect(byRTSP.count <= 20, "\(byRTSP.joined(separator: "\n"))")
    withExtendedLifetime(listener) {}
    #expect(try server.stop() == 0)
  }
}
