import Foundation
import TestSupport
import Testing

/// The recipes of the README and of the guides, run unchanged except for addresses, ports and the
/// camera.
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
    for port in Set(script.matches(of: #/:(5\d\d\d|4222|8080|8554|9800)\b/#).map { String($0.1) }) {
      let free = try port.hasPrefix("5") ? FreePort.udpPair() : FreePort.tcp()
      script.replace(":\(port)", with: ":\(free)")
    }
    // Job numbers exist only in interactive shells.
    let shell = try RunningProcess(
      "bash", ["-c", "cd '\(folder)' && set -m\n\(script)"], environment: environment)
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
    if script.contains("print(") {
      // Numbers of a frame; where there is none, words alone.
      let output = String(decoding: shell.standardOutput, as: UTF8.self)
      #expect(output.contains(#/\d/#), "\(output)\n\(said)")
    }
    let written = #/(?:-o|--stats|--capture|output:|stats:) ([a-z0-9]+\.[a-z0-9]+)/#
    for match in script.matches(of: written) {
      let size = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(match.1)")[.size]
      #expect(size as? Int ?? 0 > 0, "\(match.1)\n\(said)")
    }
  }

  @Test func theModelInTheReadmeSaysWhyNoFrameComes() throws {
    let recipe = try #require(Self.recipes.first { $0.title == "A model in Python" })
    let folder = try Scratch.path("model")
    let programs = try Self.programs(in: folder)
    var script = recipe.script
    script.replace("rtsp://user@camera/stream", with: "rtsp://127.0.0.1:\(try FreePort.tcp())/off")
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

  /// A folder with the programs; its `rtp-recv` notes its exit status in `folder`, and stops where
  /// it would otherwise run forever.
  private static func programs(in folder: String) throws -> String {
    let programs = folder + "/bin"
    try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: programs + "/rtp-send", withDestinationPath: Product.rtpSend)
    let wrapper = """
      #!/bin/bash
      limit=
      case "$1 $2 $*" in "fleet --check"*) ;; fleet*|*--reconnect*) limit="timeout -s INT 5" ;; esac
      $limit '\(Product.rtpRecv)' "$@"
      status=$?
      # `timeout` says 124 for what ended in time, once it was told to.
      [ -n "$limit" ] && [ $status -eq 124 ] && status=0
      echo "$status $*" >> '\(folder)/statuses'
      exit $status
      """
    let path = programs + "/rtp-recv"
    try wrapper.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return programs
  }
}
