import Foundation
import TestSupport
import Testing

/// The live line of a terminal, which `script` provides.
@Suite(.serialized)
struct StatusLineTests {
  /// Everything that a terminal of `columns` gets to see of a run with losses.
  private func shown(
    columns: Int, environment: String = "", output: String = "/dev/null --format yuv"
  ) throws -> String {
    let (sender, address) = try CommandTests.server(
      ["--frames", "150", "--loss", "0.1", "--seed", "3", "--packet-size", "300"])
    let command =
      "stty cols \(columns); exec env -u NO_COLOR TERM=xterm \(environment) "
      + "'\(Product.rtpRecv)' udp://\(address) -o \(output)"
    let terminal = try RunningProcess("script", ["-qec", command, "/dev/null"])
    try terminal.waitForExit()
    try sender.waitForExit()
    return String(decoding: terminal.standardOutput, as: UTF8.self)
  }

  /// The states of the line, without what controls the terminal.
  private func states(of text: String) -> [Substring] {
    text.replacing(#/\u{1B}\[[0-9;]*[A-Za-z]/#, with: "")
      .split(whereSeparator: { $0 == "\r" || $0 == "\r\n" || $0 == "\n" })
      .filter { $0.contains(" fps") || $0.contains("not intact") }
      .filter { !$0.hasPrefix("rtp-recv:") }
  }

  @Test("a recording shows what is counted, and no frames")
  func recording() throws {
    let text = try shown(columns: 160, output: Scratch.path("mp4"))
    let states = text.split(separator: "\r").filter { $0.contains("Mbit/s") }
    let last = try #require(states.last)
    #expect(last.contains(#/[1-9]\d+ access units/#) && last.contains("/s  "), "\(last)")
    #expect(last.contains(#/\d:\d\d  /#) && last.contains(#/\d\.\d MB written  /#), "\(last)")
    #expect(!last.contains("fps") && !last.contains("latency"), "\(last)")
    #expect(!text.contains(" frames"), "\(text)")
  }

  /// Hellos come 7.75 s and 12.75 s after the start; between them nothing is to be done.
  @Test func aReceiverThatWaitsDoesNotWakeForItsTerminal() throws {
    let number = try Scratch.path("pid")
    let command =
      "echo $$ > \(number); exec '\(Product.rtpRecv)' udp://127.0.0.1:9 --timeout 0 "
      + "--heartbeat-interval 60"
    let measurement = """
      script -qec "$1" /dev/null > /dev/null &
      function switches {
        cat /proc/$(cat \(number))/task/*/status | awk '/^voluntary_ctxt/ { sum += $2 } END { print sum }'
      }
      sleep 8; before=$(switches)
      for second in 1 2 3 4; do
        sleep 1; after=$(switches); echo $((after - before)); before=$after
      done
      kill $(cat \(number)); wait
      """
    let process = try RunningProcess("bash", ["-c", measurement, "bash", command])
    try process.waitForExit()
    let counts = String(decoding: process.standardOutput, as: UTF8.self)
      .split(whereSeparator: \.isNewline).compactMap { Int($0) }
    #expect(counts.count == 4)
    // A slow machine may have a hello in one of the seconds. Five times a second would be thirty in
    // each.
    #expect(try #require(counts.min()) < 3, "\(counts)")
  }

  @Test("fields go whole when the terminal is narrow", arguments: [30, 50, 80, 160])
  func width(columns: Int) throws {
    let states = states(of: try shown(columns: columns))
    let last = try #require(states.last)
    let kinds: [Regex<Substring>] = [
      #/\d+:\d\d/#, #/\d+x\d+/#, #/\d+ frames/#, #/[0-9.]+ fps/#, #/[0-9.]+ Mbit/s/#,
      #/lost \d+ \([0-9.]+ %\)/#, #/\d+ not intact/#, #/decoder too slow: \d+ left out/#,
      #/reordered \d+/#, #/jitter [0-9.]+ ms/#, #/latency [0-9.]+ ms/#,
    ]
    for state in states {
      #expect(state.count < columns, "\(state)")
      for field in state.split(separator: "  ") {
        #expect(kinds.contains { field.wholeMatch(of: $0) != nil }, "\(field) in \(state)")
      }
    }
    // What matters most stays longest.
    #expect(last.contains("not intact"), "\(last)")
    #expect(last.contains("latency") == (columns >= 80), "\(last)")
    #expect(last.contains("reordered") == (columns >= 160), "\(last)")
  }

  @Test(
    "losses are coloured unless NO_COLOR is set",
    arguments: [
      ("", true), ("NO_COLOR=1", false), ("TERM=dumb", false),
    ])
  func colour(environment: String, isColoured: Bool) throws {
    let text = try shown(columns: 100, environment: environment)
    #expect(text.contains("\u{1B}[31m") == isColoured)
    #expect(text.contains("\u{1B}[K") == (environment != "TERM=dumb"))
  }
}
