import Foundation
import TestSupport
import Testing

/// The live line of a terminal, which `script` provides.
@Suite(.serialized)
struct StatusLineTests {
  /// Everything that a terminal of `columns` gets to see of a run with losses, which lasts until a
  /// text of it is what was to be seen.
  private func shown(
    columns: Int, environment: String = "", output: String = "/dev/null --format yuv",
    until isSeen: (String) -> Bool
  ) throws -> String {
    let (sender, address) = try CommandTests.server(
      ["--loop", "forever", "--loss", "0.1", "--seed", "3", "--packet-size", "300"])
    let command =
      "stty cols \(columns); exec env -u NO_COLOR TERM=xterm \(environment) "
      + "'\(Product.rtpRecv)' udp://\(address) -o \(output)"
    let terminal = try RunningProcess("script", ["-qec", command, "/dev/null"])
    func text() -> String { String(decoding: terminal.standardOutput, as: UTF8.self) }
    try waitUntil("what is to be seen") { isSeen(text()) }
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    try terminal.waitForExit()
    return text()
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
    let fields: [Regex<Substring>] = [
      #/[1-9]\d+ access units/#, #/\/s  /#, #/\d:\d\d  /#, #/\d\.\d MB written  /#,
    ]
    func states(of text: String) -> [Substring] {
      text.split(separator: "\r").filter { $0.contains("Mbit/s") }
    }
    let text = try shown(columns: 160, output: Scratch.path("mp4")) { text in
      states(of: text).contains { state in fields.allSatisfy { state.contains($0) } }
    }
    #expect(
      states(of: text).allSatisfy { !$0.contains("fps") && !$0.contains("latency") }, "\(text)")
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
    // What matters most stays longest.
    let text = try shown(columns: columns) { text in
      states(of: text).contains {
        $0.contains("not intact") && (columns < 80 || $0.contains("latency"))
          && (columns < 160 || $0.contains("reordered"))
      }
    }
    let kinds: [Regex<Substring>] = [
      #/\d+:\d\d/#, #/\d+x\d+/#, #/(?!1 )\d+ frames|1 frame/#, #/[0-9.]+ fps/#, #/[0-9.]+ Mbit/s/#,
      #/lost \d+ \([0-9.]+ %\)/#, #/\d+ not intact/#, #/decoder too slow: \d+ left out/#,
      #/reordered \d+/#, #/jitter [0-9.]+ ms/#, #/latency [0-9.]+ ms/#,
    ]
    for state in states(of: text) {
      #expect(state.count < columns, "\(state)")
      for field in state.split(separator: "  ") {
        #expect(kinds.contains { field.wholeMatch(of: $0) != nil }, "\(field) in \(state)")
      }
    }
    let last = try #require(states(of: text).last { $0.contains("not intact") })
    #expect(last.contains("latency") == (columns >= 80), "\(last)")
    #expect(last.contains("reordered") == (columns >= 160), "\(last)")
  }

  @Test(
    "losses are coloured unless NO_COLOR is set",
    arguments: [
      ("", true), ("NO_COLOR=1", false), ("TERM=dumb", false),
    ])
  func colour(environment: String, isColoured: Bool) throws {
    let text = try shown(columns: 100, environment: environment) { $0.contains("not intact") }
    #expect(text.contains("\u{1B}[31m") == isColoured)
    #expect(text.contains("\u{1B}[K") == (environment != "TERM=dumb"))
  }
}
