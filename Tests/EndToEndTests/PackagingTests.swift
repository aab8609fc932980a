import Foundation
import TestSupport
import Testing

/// What the Debian package has beside the programs.
///
/// `tools/package check` installs all of it.
struct PackagingTests {
  private static let debian = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("debian")

  @Test(
    "a page has every option of the help, and its examples as they are",
    arguments: [
      (Product.rtpRecv, [], "    rtp\\-recv udp://203.0.113.5:5004 \\-o \\- | ffplay \\-"),
      (Product.rtpRecv, ["fleet"], "      source: rtsp://10.0.0.5/1"),
      (Product.rtpRecv, ["discover"], "  rtp\\-recv onvif://user@192.168.1.64 \\-\\-list"),
      (Product.rtpSend, [], "    rtp\\-send pattern listen://127.0.0.1:5004"),
      (Product.rtpSend, ["proxy"], "  udp://[ADDR]:PORT udp://HOST:PORT"),
    ])
  func manual(program: String, subcommand: [String], example: String) throws {
    let help = try RunningProcess.output(of: program, subcommand + ["--help"])
    let page = String(
      decoding: try RunningProcess.output(
        of: Self.debian.appendingPathComponent("manual").path, [program] + subcommand),
      as: UTF8.self)
    let options = String(decoding: help, as: UTF8.self)
      .matches(of: #/^ +(?:-\w, )?--([a-z0-9-]+)/#.anchorsMatchLineEndings()).map { String($0.1) }
    #expect(options.count >= 2)
    for option in options {
      let tag = "\\-\\-\(option.replacingOccurrences(of: "-", with: "\\-"))\\fR"
      #expect(page.contains(tag), "\(option)")
    }
    #expect(page.contains("\n\(example)"))
    #expect(page.contains(".SH SEE ALSO\n"))
  }

  @Test(
    "a completion knows formats, and where a file is wanted",
    arguments: [
      (["--pixel-format", "bg"], "bgr24"), (["-o", "ca"], "camera.mp4"), (["ca"], "camera.mp4"),
      (["--tls-ca", "ca"], "camera.mp4"), (["--on-loss", "fr"], "freeze"),
      (["--tran"], "--transport"),
    ])
  func completion(words: [String], expected: String) throws {
    let folder = try Scratch.path("completion")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: "\(folder)/camera.mp4", contents: nil))
    let script = #"""
      cd "$1"
      source <("$0" --generate-completion-script bash)
      COMP_WORDS=(rtp-recv "${@:2}")
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _rtp-recv rtp-recv "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
      printf '%s\n' "${COMPREPLY[@]}"
      """#
    let offered = try RunningProcess.output(
      of: "bash", ["-c", script, Product.rtpRecv, folder] + words)
    let lines = String(decoding: offered, as: UTF8.self).split(separator: "\n")
    #expect(lines.contains { $0.trimmingCharacters(in: .whitespaces) == expected }, "\(lines)")
  }

  /// Programs, what they consist of, and what the other one alone is made of.
  @Test(arguments: [
    (Product.rtpRecv, ["Yams", "swift-metrics", "libcurl4", "libnats", "libturbojpeg"], []),
    (
      Product.rtpSend, ["libcurl4", "libavformat"],
      ["Yams", "swift-metrics", "libnats", "libturbojpeg"]
    ),
  ])
  func whatTheProgramConsistsOfIsListedAsCycloneDXWants(
    program: String, parts: [String], others: [String]
  ) throws {
    let tools = Self.debian.deletingLastPathComponent().appendingPathComponent("tools")
    let list = try RunningProcess.output(
      of: tools.appendingPathComponent("sbom").path, [program])
    let path = try Scratch.path("cdx.json")
    try list.write(to: URL(fileURLWithPath: path))
    let python = Self.debian.deletingLastPathComponent()
      .appendingPathComponent(".build/python/bin/python").path
    let faults = try RunningProcess.output(
      of: python,
      [
        "-c",
        """
        import sys
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
        with open(sys.argv[1]) as file:
            print(JsonStrictValidator(SchemaVersion.V1_5).validate_str(file.read()))
        """, path,
      ])
    #expect(String(decoding: faults, as: UTF8.self) == "None\n")
    let words = String(decoding: list, as: UTF8.self)
    let common = ["swift-nio", "swift-argument-parser", "libssl3", "libsrtp2-1", "libavcodec"]
    for name in common + parts { #expect(words.contains("\"name\": \"\(name)"), "\(name)") }
    for name in others { #expect(!words.contains("\"name\": \"\(name)"), "\(name)") }
  }

  @Test("the list of each program is in the package", arguments: ["rtp-recv", "rtp-send"])
  func components(program: String) throws {
    func file(_ name: String) throws -> String {
      try String(contentsOf: Self.debian.appendingPathComponent(name), encoding: .utf8)
    }
    let rules = try file("rules").split(separator: "\n")
    let loop = try #require(rules.lastIndex { $0.contains("for program in") })
    #expect(rules[loop].contains(program))
    #expect(rules[loop...].contains { $0.contains("tools/sbom $(programs)/$$program") })
    #expect(try file("rtp-recv.docs").contains("made/*.cdx.json\n"))
  }

  @Test(
    "the service may do little",
    arguments: [
      "User=rtp-recv", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict",
      "ProtectHome=yes", "PrivateDevices=yes", "LimitCORE=0", "MemoryDenyWriteExecute=yes",
      "RestrictNamespaces=yes",
    ])
  func service(line: String) throws {
    let unit = try String(
      contentsOf: Self.debian.appendingPathComponent("rtp-recv.service"), encoding: .utf8)
    #expect(unit.split(separator: "\n").contains { $0 == line })
  }

  private static let hasSystemd =
    (try? RunningProcess("systemd-analyze", ["--version"]).waitForExit()) == 0

  /// It goes on without what it does not know, as Debian 12's did with a group of system calls that
  /// decoders need.
  @Test("systemd ignores nothing of the service", .enabled(if: hasSystemd, "no systemd-analyze"))
  func verifiedService() throws {
    let unit = Self.debian.appendingPathComponent("rtp-recv.service").path
    let check = try RunningProcess("systemd-analyze", ["--man=no", "verify", unit])
    // Its status is 1 where the package is not installed.
    try check.waitForExit()
    #expect(!check.standardError.contains(#/service:\d+:/#), "\(check.standardError)")
  }

  @Test("a decoder of the service may shut itself in")
  func serviceFilter() throws {
    let unit = try String(
      contentsOf: Self.debian.appendingPathComponent("rtp-recv.service"), encoding: .utf8)
    let filter = unit.split(separator: "\n").first { $0.hasPrefix("SystemCallFilter=@") }
    let calls = try #require(filter).split(separator: " ").dropFirst()
    #expect(
      calls == [
        "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
      ])
  }

  @Test func theExampleOfTheServiceIsRight() throws {
    let example = try String(
      contentsOf: Self.debian.appendingPathComponent("cameras.yaml"), encoding: .utf8)
    let password = try Scratch.path("password")
    try "secret\n".write(toFile: password, atomically: false, encoding: .utf8)
    chmod(password, 0o400)
    let file = try Scratch.path("yaml")
    try example.replacingOccurrences(of: "/etc/rtp-recv/password", with: password)
      .write(toFile: file, atomically: false, encoding: .utf8)
    let checked = try RunningProcess.output(of: Product.rtpRecv, ["fleet", "--check", file])
    #expect(String(decoding: checked, as: UTF8.self).contains("camera-door.example"))
  }
}
