import Foundation
import TestSupport
import Testing

/// The recipes of the README and of the guides, run unchanged except for addresses, ports, the
/// camera, and what a busy machine does not keep to.
///
/// These are the fenced blocks that begin with ```` ```sh ````: in the README those of the section
/// "Recipes", in the guides all of them. Shell text that is not to be run is ```` ```text ````.
@Suite(.serialized)
struct RecipeTests {
  struct Recipe: Sendable, CustomTestStringConvertible {
    let page: String
    let title: String
    let script: String
    var testDescription: String { "\(page): \(title)" }
  }

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The text of the README.
  private static let text = Result {
    try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
  }

  /// The guides' names and texts.
  private static let guides = Result {
    let folder = root.appendingPathComponent("Documentation")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0.hasSuffix(".md") }.map { name in
        (name, try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
      }
  }

  static let recipes: [Recipe] = {
    let section = (try? text.get())?.split(separator: "\n## ").first {
      $0.hasPrefix("Recipes\n")
    }
    let others = (try? guides.get()) ?? []
    return (section.map { recipes(in: $0, of: "README.md") } ?? [])
      + others.flatMap { recipes(in: $0.1[...], of: $0.0) }
  }()

  /// Each fenced block of shell commands, named by the bold words or the heading before it.
  private static func recipes(in text: Substring, of page: String) -> [Recipe] {
    var title = ""
    return text.split(separator: "```sh\n").enumerated().compactMap { index, part in
      let pieces = part.split(separator: "\n```", maxSplits: 1)
      let words = index == 0 ? part : pieces.last ?? ""
      let script = index == 0 ? nil : pieces.first
      defer {
        if let match = words.matches(of: #/\*\*(.+?)\*\*|(?:^|\n)##+ ([^\n]+)/#).last {
          title = String(match.1 ?? match.2 ?? "")
        }
      }
      return script.map { Recipe(page: page, title: title, script: String($0)) }
    }
  }

  @Test func thereAreRecipes() throws {
    #expect(Self.recipes.count { $0.page == "README.md" } >= 12)
    #expect(Self.recipes.allSatisfy { !$0.title.isEmpty })
    // None of a guide is overlooked.
    for (name, text) in try Self.guides.get() {
      let blocks = text.split(separator: "\n").count { $0 == "```sh" }
      #expect(Self.recipes.count { $0.page == name } == blocks, "\(name)")
    }
    #expect(Self.recipes.count { $0.page != "README.md" } >= 20)
  }

  @Test("does what it says", arguments: recipes)
  func recipe(_ recipe: Recipe) throws {
    let folder = try Scratch.path("recipe")
    let programs = try Self.programs(in: folder)
    var script = recipe.script
    var environment = [
      "PATH": "\(programs):\(ProcessInfo.processInfo.environment["PATH"] ?? ""):/usr/sbin",
      "PYTHONPATH": Self.root.appendingPathComponent("python").path,
      "PYTHONDONTWRITEBYTECODE": "1",
    ]
    var peers: [RunningProcess] = []
    if script.contains("camera") {
      let server = try GStreamerServer(Clip.h264.get(), ["--auth", "digest"])
      peers.append(server.process)
      script.replace("rtsp://user@camera/stream", with: server.url(user: "viewer@"))
      if script.contains("onvif://") {
        let camera = try ONVIFCamera(server.url(), ["--login", "token", "--discoverable"])
        peers.append(camera.process)
        script.replace("onvif://user@camera", with: camera.url(user: "viewer@"))
        // The camera is on this machine.
        script.replace("discover", with: "discover --interface lo")
      }
      script.replace("the password", with: GStreamerServer.password)
      if !script.contains("--password-file") {
        environment["RTP_RECV_PASSWORD"] = GStreamerServer.password
      }
    }
    if script.contains("203.0.113.5:5004") {
      let (sender, address) = try CommandTests.server([])
      peers.append(sender)
      script.replace("203.0.113.5:5004", with: address)
    }
    // There is no screen here, and watching would not end.
    script.replace("| ffplay -", with: "--frames 30 | ffmpeg -v error -i - -f null -")
    var ports: [String] = []
    for port in Set(script.matches(of: #/:([58]\d\d\d|4222|9800)\b/#).map { String($0.1) }) {
      let free = try port.hasPrefix("5") ? FreePort.udpPair() : FreePort.tcp()
      script.replace(":\(port)", with: ":\(free)")
      ports.append("\(free)")
    }
    script = Self.awaitingWhatIsSleptFor(script, ports)
    // Between two pictures this machine may do nothing for longer.
    script.replace("gap<=2s", with: "gap<=1min")
    // Job numbers exist only in interactive shells.
    let shell = try RunningProcess(
      "bash", ["-c", "cd '\(folder)' && set -m\n\(script)"], environment: environment)
    let files = script.matches(
      of: #/(?:-o|--stats|--capture|output:|stats:) ([a-z0-9]+\.[a-z0-9]+)/#
    ).map { "\(folder)/\($0.1)" }
    // Numbers of a frame; where there is none, words alone.
    func hasPrinted() -> Bool {
      !script.contains("print(")
        || String(decoding: shell.standardOutput, as: UTF8.self).contains(#/\d/#)
    }
    // What is missing even so is said below.
    try? waitUntil("what the recipe makes") {
      hasPrinted() && files.allSatisfy { Scratch.size(of: $0) > 0 }
    }
    try Data().write(to: URL(fileURLWithPath: "\(folder)/enough"))
    try shell.waitForExit(within: 90)
    for peer in peers { peer.send(signal: SIGTERM) }

    let said = "\(script)\n\(shell.standardError)"
    let statuses = try String(contentsOfFile: "\(folder)/statuses", encoding: .utf8)
    #expect(!statuses.isEmpty, "\(said)")
    for line in statuses.split(separator: "\n") {
      #expect(line.hasPrefix("0 "), "\(line)\n\(said)")
    }
    // A program in Python whose status is not that of the last command.
    let mistake =
      #/(Module\w+|Import|Attribute|Name|Type|Value|Index|Syntax|Assertion|Camera)Error|Ring(Lost|Timeout)/#
    #expect(!shell.standardError.contains(mistake), "\(said)")
    #expect(hasPrinted(), "\(said)")
    for file in files { #expect(Scratch.size(of: file) > 0, "\(file)\n\(said)") }
  }

  /// The recipe in which each `sleep` of a second or more also waits for those of the `ports` and
  /// sockets that the commands before it open, each once: what serves one client ends behind it.
  private static func awaitingWhatIsSleptFor(_ script: String, _ ports: [String]) -> String {
    var rest = ports
    return script.replacing(#/\bsleep \d+(?= &&|\n)/#) { match -> String in
      let before = script[..<match.range.lowerBound]
      let opened = rest.filter { before.contains(":\($0)") }
      rest.removeAll { opened.contains($0) }
      let sockets = before.matches(of: #/shm:(\S+)/#).map { String($0.1) }
      return ([String(match.output)] + opened + sockets).joined(separator: " ")
    }
  }

  @Test func theModelInTheReadmeSaysWhyNoFrameComes() throws {
    let recipe = try #require(Self.recipes.first { $0.title == "A model in Python" })
    let folder = try Scratch.path("model")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // The module ends what it starts, so that must be the program itself.
    let programs = URL(fileURLWithPath: Product.rtpRecv).deletingLastPathComponent().path
    var script = recipe.script
    let none = "rtsp://127.0.0.1:\(try FreePort.closed.get())/off"
    script.replace("rtsp://user@camera/stream", with: none)
    script.replace("wait(10)", with: "wait(2)")
    let shell = try RunningProcess(
      "bash", ["-c", "cd '\(folder)'\n\(script)"],
      environment: [
        "PATH": "\(programs):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
        "PYTHONPATH": Self.root.appendingPathComponent("python").path,
        "PYTHONDONTWRITEBYTECODE": "1",
      ])
    #expect(try shell.waitForExit(within: 30) == 0, "\(shell.standardError)")
    let said = String(decoding: shell.standardOutput, as: UTF8.self)
    #expect(said.contains("refuses the connection"), "\(said)\n\(shell.standardError)")
  }

  @Test func theProgramInTheReadmeIsAmongTheExamples() throws {
    let program = Self.root.appendingPathComponent("Examples/Sources/first-frames/main.swift")
    let source = try String(contentsOf: program, encoding: .utf8)
    #expect(try Self.text.get().contains("```swift\n\(source)```"))
  }

  /// A folder with the programs.
  ///
  /// Its `rtp-recv` notes its exit status in `folder`. Where it would run forever, it ends after
  /// five seconds, but not before the file `enough` is there, unless the recipe itself ends it. Its
  /// `sleep` also waits until all ports and files that are named after the time are there.
  private static func programs(in folder: String) throws -> String {
    let programs = folder + "/bin"
    try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: programs + "/rtp-send", withDestinationPath: Product.rtpSend)
    let receiver = """
      #!/bin/bash
      seconds=
      case "$1 $2 $*" in
        "fleet --check"*) ;;
        *shm:camera.ring*) seconds=60 ;;
        fleet*|*--reconnect*) seconds=5 ;;
      esac
      if [ -z "$seconds" ]; then
        '\(Product.rtpRecv)' "$@"
        status=$?
      else
        # What is sent to the group is for the program.
        trap : TERM
        '\(Product.rtpRecv)' "$@" &
        receiver=$!
        # Signals may be blocked here, also what tells that it has ended.
        while grep -qs '^State:.[^ZX]' /proc/$receiver/status; do
          if [ -n "$seconds" ] && [ $SECONDS -ge $seconds ] && [ -e '\(folder)/enough' ]; then
            kill $receiver
            seconds=
          fi
          command -p sleep 0.05
        done
        wait $receiver
        status=$?
      fi
      echo "$status $*" >> '\(folder)/statuses'
      exit $status
      """
    let sleep = """
      #!/bin/bash
      command -p sleep "$1"
      shift
      end=$((SECONDS + 60))
      for wanted in "$@"; do
        port=
        case $wanted in *[!0-9]*) ;; *) printf -v port '%04X' "$wanted" ;; esac
        until [ -e "$wanted" ] ||
          grep -qs "^ *[0-9]*: [0-9A-F]*:$port " /proc/net/{tcp,tcp6,udp,udp6}
        do
          [ $SECONDS -lt $end ] || exit 1
          command -p sleep 0.05
        done
      done
      """
    for (name, script) in [("rtp-recv", receiver), ("sleep", sleep)] {
      let path = "\(programs)/\(name)"
      try script.write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    return programs
  }
}
