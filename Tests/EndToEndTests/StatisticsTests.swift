import Foundation
import TestSupport
import Testing

/// `--stats`: its contents, where it goes, and what happens when it cannot go there.
@Suite(.serialized)
struct StatisticsTests {
  @Test func aFileThatIsFullIsRenamedAndANewOneBegins() throws {
    let (sender, address) = try CommandTests.server([])
    let path = try Scratch.path("jsonl")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "--stats", path, "--stats-size", "16384"])
    try waitUntil("the file is renamed") { Scratch.size(of: path + ".1") > 0 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let files = try [path + ".1", path].map {
      try String(contentsOfFile: $0, encoding: .utf8).split(separator: "\n")
    }
    for lines in files {
      #expect(!lines.isEmpty && lines.reduce(0) { $0 + $1.utf8.count + 1 } <= 16_384)
      for line in lines {
        #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
      }
    }
    #expect(files[1].last?.contains(#""final":true"#) == true)
  }

  @Test("a file that somebody has removed is followed by a new one, where the link leads")
  func aFileThatIsGoneWhenItIsFull() throws {
    let (sender, address) = try CommandTests.server([])
    let (link, path) = (try Scratch.path("jsonl"), try Scratch.path("jsonl"))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--stats", link, "--stats-size", "16384"])
    try waitUntil("the file has a line") { Scratch.size(of: path) > 0 }
    try FileManager.default.removeItem(atPath: path)
    try waitUntil("a new file has a line") { Scratch.size(of: path) > 0 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.last?.contains(#""final":true"#) == true)
    #expect(!FileManager.default.fileExists(atPath: link + ".1"))
  }

  /// With `create`, and with `copytruncate`.
  @Test("what logrotate does to the file spoils no line", arguments: [false, true])
  func logrotate(cuts: Bool) throws {
    let (sender, address) = try CommandTests.server(["--frames", "1000"])
    let path = try Scratch.path("jsonl")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--stats", path, "--stats-size", "16384"])
    try waitUntil("the file has a line") { Scratch.size(of: path) > 0 }
    if cuts {
      try #require(truncate(path, 0) == 0)
    } else {
      try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
      try Data().write(to: URL(fileURLWithPath: path))
    }
    try waitUntil("the file in its place has a line") { Scratch.size(of: path) > 0 }
    let start = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 1)
    #expect(start == Data("{".utf8))
    #expect(cuts || Scratch.size(of: path + ".1") > 0)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test("a file that somebody has moved, and made a link to, is written on")
  func aFileBehindALink() throws {
    let (sender, address) = try CommandTests.server([])
    let path = try Scratch.path("jsonl")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--stats", path, "--stats-size", "16384"])
    try waitUntil("the file has a line") { Scratch.size(of: path) > 0 }
    try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
    try FileManager.default.createSymbolicLink(
      atPath: path, withDestinationPath: path + ".moved")
    try waitUntil("it is longer than it may be") { Scratch.size(of: path + ".moved") > 20_000 }
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.last?.contains(#""final":true"#) == true)
  }

  @Test(
    "a full disk is told at once, and the run goes on",
    arguments: [
      (["--stats", "/dev/full"], "--stats /dev/full"), (["--capture", "/dev/full"], "/dev/full"),
      (["-o", "/dev/full", "--format", "y4m"], "/dev/full"),
      (["-o", "/dev/full", "--format", "h264"], "/dev/full"),
    ])
  func fullDisk(arguments: [String], name: String) throws {
    let (sender, address) = try CommandTests.server(["--codec", "h264", "--loop", "forever"])
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", try Scratch.path("mp4")] + arguments)
    let line = try receiver.waitForLine(
      #/rtp-recv: (?:warning: )?(.*) cannot be written: No space left/#)
    #expect(line.1 == name)
    receiver.send(signal: SIGUSR1)
    _ = try receiver.waitForLine(#/received \d+ packets/#)
    receiver.send(signal: SIGTERM)
    #expect(try receiver.waitForExit() == 6)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test(
    "what ended an output has a name",
    arguments: [("/dev/full", "y4m", "write_failed"), ("video", "h265", "wrong_codec")])
  func endOfAnOutput(path: String, format: String, name: String) throws {
    let (sender, address) = try CommandTests.server(["--codec", "h264", "--loop", "forever"])
    let path = path == "/dev/full" ? path : try Scratch.path(path)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", path, "--format", format, "--stats", "-"])
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let lines = String(decoding: receiver.standardOutput, as: UTF8.self).split(separator: "\n")
    let last = try #require(lines.last)
    let object = try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
    let outputs = try #require(object?["outputs"] as? [[String: Any]])
    #expect(outputs.map { $0["error"] as? String } == [name])
  }

  @Test("each line says when it was written, in UTC")
  func timeOfDay() throws {
    let before = Date().formatted(.iso8601).dropLast()
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--stats", "-", "--timeout", "3"])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    let after = Date().formatted(.iso8601).dropLast()
    let lines = String(decoding: receiver.standardOutput, as: UTF8.self).split(separator: "\n")
    let times = lines.compactMap { $0.firstMatch(of: #/,"time":"([^"]{19})\.\d{6}Z",/#)?.1 }
    #expect(times.count == lines.count && times.count > 1, "\(lines)")
    #expect(times == times.sorted() && times.allSatisfy { before <= $0 && $0 <= after })
  }

  @Test func aNamedPipeThatNobodyReadsIsGivenUp() throws {
    let path = try Scratch.path("fifo")
    try #require(mkfifo(path, 0o600) == 0)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--stats", path, "--timeout", "0.5"])
    #expect(try receiver.waitForExit() == 6)
    #expect(
      receiver.standardError.contains("nobody has opened the pipe"), "\(receiver.standardError)")
  }

  @Test func aNamedPipeThatIsReadLaterHasEverything() throws {
    let path = try Scratch.path("fifo")
    try #require(mkfifo(path, 0o600) == 0)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--stats", path, "--timeout", "0.5"])
    let reader = try RunningProcess("cat", [path])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    try reader.waitForExit()
    #expect(try Statistics.lines(of: reader).count >= 1)
  }

  /// Runs that between them write every key: pictures with sound, encrypted and judged; sound
  /// alone, which has to be converted; and a server that is not there.
  private static func lines() throws -> [Any] {
    let key = try Scratch.path("key")
    let material = Data(repeating: 1, count: 30).base64EncodedString()
    try "AES_CM_128_HMAC_SHA1_80 \(material)".write(
      toFile: key, atomically: true, encoding: .utf8)
    chmod(key, 0o600)
    let server = try RTSPSendTests.Server(
      [("pattern", "live")], RTSPSendTests.small + ["--audio", "opus", "--srtp-key-file", key])
    let soundServer = try RTSPSendTests.Server(
      [("pattern", "live")], ["--audio", "g722", "--no-video", "--frames", "15"])
    let none = try FreePort.closed.get()
    let runs = [
      [
        server.url("live"), "--rtsp-transport", "tcp", "--srtp-key-file", key, "--frames", "60",
        "-o", try Scratch.path("mkv"), "-o", "shm:\(try Scratch.path("ring"))", "--pace",
        "--expect", "frames>0",
      ],
      [soundServer.url("live"), "--rtsp-transport", "tcp", "-o", try Scratch.path("mp4")],
      ["tcp://127.0.0.1:\(none)", "--reconnect", "--timeout", "1"],
    ]
    return try runs.flatMap { arguments in
      let receiver = try RunningProcess(Product.rtpRecv, arguments + ["--stats", "-"])
      try receiver.waitForExit()
      return try String(decoding: receiver.standardOutput, as: UTF8.self).split(separator: "\n")
        .map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }
    }
  }

  /// The keys of `value`, which stands at `path`, as jq writes them.
  private static func keys(in value: Any, at path: String = "") -> [String] {
    if let list = value as? [Any] { return list.flatMap { keys(in: $0, at: path + "[]") } }
    guard let object = value as? [String: Any] else { return [] }
    return object.flatMap { name, value in
      let path = path.isEmpty ? name : "\(path).\(name)"
      // The first has those keys that something failed for, the second those of `delivery.damage`.
      let isListed = ["delivery.decode_failures", "payload.damaged_access_units"].contains(path)
      return [path] + (isListed ? [] : keys(in: value, at: path))
    }
  }

  @Test("the guide has every key that is written, once, and no other")
  func keysInTheGuide() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let guide = try String(
      contentsOf: root.appendingPathComponent("Documentation/Statistics.md"), encoding: .utf8)
    let listed = guide.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
      let cell = row.dropFirst(2).prefix { $0 != "|" }
      return cell.matches(of: #/`([^`]+)`/#).map { String($0.1) }
    }
    let written = Set(try Self.lines().flatMap { Self.keys(in: $0) })
    #expect(written.subtracting(listed) == [])
    #expect(Set(listed).subtracting(written) == [])
    #expect(listed.count == Set(listed).count)
  }
}
