import Foundation
import TestSupport
import Testing

/// Recordings on disks that are full, fail or stall, and what is on them when the program is
/// killed.
@Suite(.serialized)
struct RecordingDiskTests {
  /// Whether there is a program that shows what another one asks of the system, and can refuse it.
  private static let mayTrace: Bool = {
    let trace = try? RunningProcess(
      "strace", ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"])
    return (try? trace?.waitForExit(within: 20)) == 0
  }()

  @Test(
    "files are put on the disk, and the folder with their names", .enabled(if: mayTrace))
  func stored() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "120"])
    let folder = try TemporaryFolder()
    let trace = try Scratch.path("strace")
    let receiver = try RunningProcess(
      "strace",
      ["-f", "-y", "-e", "trace=fsync,fdatasync", "-o", trace, Product.rtpRecv]
        + ["udp://\(address)", "-o", folder("cam.mp4"), "--segment", "2s"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    #expect(folder.names.count == 2)
    for name in folder.names {
      #expect(calls.contains { $0.contains("fdatasync(") && $0.contains(name) }, "\(calls)")
    }
    let folders = calls.filter { $0.contains("fsync(") && $0.contains(folder.path + ">") }
    #expect(folders.count == 2, "\(calls)")
  }

  @Test("a file that cannot be written on ends whole, and the next one is tried")
  func fullDisk() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "300"])
    let folder = try TemporaryFolder()
    // No file may be longer than 60 KiB.
    let receiver = try RunningProcess(
      "bash",
      ["-c", #"ulimit -f 60; exec "$0" "$@""#, Product.rtpRecv]
        + ["udp://\(address)", "-o", folder("a.mp4"), "--verbose"])
    #expect(try receiver.waitForExit() == 6)
    try sender.waitForExit()
    #expect(receiver.standardError.contains("300 access units"))
    #expect(receiver.standardError.contains("a.mp4 cannot be written: File too large"))
    #expect(receiver.standardError.contains("the recording has"))
    #expect(folder.names.count >= 3)
    for name in folder.names {
      #expect(try FFmpeg.frameHashes(of: folder(name)).count > 0)
      #expect(try Self.boxesFill(folder(name)))
    }
  }

  /// Whether a file ends with the end of a box (ISO/IEC 14496-12 §4.2).
  private static func boxesFill(_ path: String) throws -> Bool {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    var position = 0
    while position + 8 <= bytes.count {
      let size = bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
      // No file of this test is so long that a box needs more than 32 bits.
      guard size >= 8 else { return false }
      position += size
    }
    return position == bytes.count
  }

  /// A recording, and how the disk answers when it is to store what was written the first time.
  private static func receiver(
    from address: String, to path: String, whileTheDisk answer: String
  ) throws -> RunningProcess {
    try RunningProcess(
      "strace",
      [
        "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
        "inject=fdatasync:\(answer):when=1",
      ]
        + [Product.rtpRecv, "udp://\(address)", "-o", path, "--verbose", "--stats", "-"])
  }

  @Test(
    "a disk that fails is named at once, and the next file is tried", .enabled(if: mayTrace),
    arguments: RecordingTests.Container.allCases)
  func failingDisk(_ container: RecordingTests.Container) throws {
    let (sender, address) = try RecordingTests.server(["--loop", "forever"])
    let folder = try TemporaryFolder()
    let receiver = try Self.receiver(
      from: address, to: folder("cam." + container.rawValue), whileTheDisk: "error=EIO")
    _ = try receiver.waitForLine(
      #/cannot be written: Input\/output error; .*the next file is tried/#)
    #expect(!receiver.standardError.contains("access units"))
    try waitUntil("the next file is written") { folder.names.count >= 2 }
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    #expect(try Statistics(lastLineOf: receiver)["rtp", "lost"] == 0)
    #expect(receiver.standardError.contains("the recording has a hole"))
    #expect(folder.names.count >= 2)
    for name in folder.names {
      #expect(try !FFmpeg.frameHashes(of: folder(name)).isEmpty, "\(name)")
    }
  }

  @Test(
    "a disk that stalls is named while it does, and nothing is lost", .enabled(if: mayTrace))
  func stalledDisk() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "480", "--fps", "10"])
    let path = try Scratch.path("mp4")
    let receiver = try Self.receiver(
      from: address, to: path, whileTheDisk: "delay_enter=6000000")
    _ = try receiver.waitForLine(
      #/warning: the disk has not taken what is written to .* for \d+ s/#)
    #expect(!receiver.standardError.contains("access units"))
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(try RecordingTests.probe(path, "stream=nb_read_packets") == "480")
  }

  @Test(
    "statistics and captures wait for a disk that stalls at the end", .enabled(if: mayTrace))
  func stalledEnd() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "30"])
    let (statistics, capture) = (try Scratch.path("json"), try Scratch.path("pcapng"))
    // Each takes its file's first bytes, which come near the end, four seconds later.
    let receiver = try RunningProcess(
      "strace",
      [
        "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-P", statistics, "-P", capture, "-e",
        "trace=write,writev", "-e", "inject=write,writev:delay_enter=4000000:when=1",
      ]
        + [Product.rtpRecv, "udp://\(address)", "--stats", statistics, "--capture", capture])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(try String(contentsOfFile: statistics, encoding: .utf8).contains(#""final":true"#))
    let player = try RunningProcess(Product.rtpRecv, [capture, "--stats", "-"])
    #expect(try player.waitForExit() == 0)
    #expect(try Statistics(lastLineOf: player)["delivery", "access_units"] == 30)
  }

  /// Whether a file system of a test's own can be mounted.
  private static let mayMount: Bool = {
    let mount = try? RunningProcess(
      "unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=128k", "none", "/mnt"])
    return (try? mount?.waitForExit(within: 20)) == 0
  }()

  @Test(
    "on a full file system all files end whole, and receiving goes on",
    .enabled(if: mayMount, "file systems may not be mounted here"),
    arguments: RecordingTests.Container.allCases)
  func fullFileSystem(_ container: RecordingTests.Container) throws {
    let (sender, address) = try RecordingTests.server(["--loop", "forever"])
    let folder = try TemporaryFolder()
    let kept = try TemporaryFolder()
    // What is mounted is gone with the shell.
    let script = #"""
      mount -t tmpfs -o size=128k none "$1" || exit 1
      "$0" "$2" -o "$1/cam.$3" --segment 1s --verbose --stats -
      status=$?
      cp "$1"/* "$4" && exit $status
      """#
    let receiver = try RunningProcess(
      "unshare",
      ["-m", "bash", "-c", script, Product.rtpRecv, folder.path, "udp://\(address)"]
        + [container.rawValue, kept.path])
    _ = try receiver.waitForLine(
      #/cannot be written: No space left on device; .* next file is tried/#)
    #expect(!receiver.standardError.contains("access units"))
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    #expect(try Statistics(lastLineOf: receiver)["rtp", "lost"] == 0)
    #expect(receiver.standardError.contains("the recording has a hole"))
    // 30 kB each.
    #expect(kept.names.count >= 2, "\(kept.names)")
    for name in kept.names {
      let frames = try FFmpeg.frameHashes(of: kept(name)).count
      #expect((1...30).contains(frames), "\(name) has \(frames) pictures")
    }
  }

  @Test(
    "on a full file system, no file is named in which nothing is",
    .enabled(if: mayMount, "file systems may not be mounted here"))
  func filesThatAreNot() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "300"])
    let folder = try TemporaryFolder()
    let kept = try TemporaryFolder()
    let script = #"""
      mount -t tmpfs -o size=128k none "$1" || exit 1
      "$0" "$2" -o "$1/cam.mp4" --verbose
      status=$?
      cp "$1"/* "$3" && exit $status
      """#
    let receiver = try RunningProcess(
      "unshare",
      ["-m", "bash", "-c", script, Product.rtpRecv, folder.path, "udp://\(address)", kept.path])
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    try sender.waitForExit()
    let said = receiver.standardError.matches(of: #/what follows is in .*\/(cam[^\s]*)/#)
    for match in said { #expect(kept.names.contains(String(match.1)), "\(match.1)") }
    #expect(kept.names.contains("cam.mp4"))
  }

  @Test("old segments are deleted, and nothing else")
  func retention() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "300"])
    let folder = try TemporaryFolder()
    try Data("precious".utf8).write(to: folder.url("cam.mp4"))
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [
        "udp://\(address)", "-o", folder("cam.mp4"), "--segment", "1s", "--keep", "100kB,free=1MB",
        "--verbose",
      ])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(try folder.contents("cam.mp4") == Array("precious".utf8))
    // 28 kB each.
    #expect((2...6).contains(folder.names.count), "\(folder.names)")
    #expect(receiver.standardError.contains("deleted"))
  }

  @Test(
    "the oldest segments make room where a file system is to have some",
    .enabled(if: mayMount, "file systems may not be mounted here"))
  func freeSpace() throws {
    let (sender, address) = try RecordingTests.server(["--frames", "450"])
    let folder = try TemporaryFolder()
    // Fifteen segments of 28 kB; what is not free has room for six.
    let script = #"""
      mount -t tmpfs -o size=500k none "$1" || exit 1
      "$0" "$2" -o "$1/cam.mp4" --segment 1s --keep free=320kB --verbose || exit
      df --output=avail -B1 "$1" | tail -n 1
      ls "$1"
      """#
    let receiver = try RunningProcess(
      "unshare",
      ["-m", "bash", "-c", script, Product.rtpRecv, folder.path, "udp://\(address)"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let lines = String(decoding: receiver.standardOutput, as: UTF8.self)
      .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let free = try #require(lines.first.flatMap { Int($0) }, "\(lines)")
    // The file that is being written was not looked at yet.
    #expect(free >= 320_000 - 40_000)
    #expect((2...6).contains(lines.count - 1), "\(lines)")
    #expect(receiver.standardError.contains("deleted"))
    #expect(receiver.standardError.contains("450 access units"), "\(receiver.standardError)")
  }

  /// What is in a recording: hashes of the decoded pictures and of the packets of sound.
  private struct Content {
    var pictures: [String] = []
    var sound: [String] = []
    let size: Int

    init(of path: String) throws {
      size = Scratch.size(of: path)
      let process = try RunningProcess(
        "ffmpeg",
        ["-nostdin", "-v", "error", "-i", path, "-map", "0", "-c:a", "copy"]
          + ["-fps_mode", "passthrough", "-f", "framemd5", "-"])
      // What is broken off has what comes out of it.
      try process.waitForExit()
      let text = String(decoding: process.standardOutput, as: UTF8.self)
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        // Stream, two times, duration, size, hash, and perhaps what is beside it.
        let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        guard fields.count > 5 else { continue }
        if fields[0] == "0" { pictures.append(fields[5]) } else { sound.append(fields[5]) }
      }
    }
  }

  /// The packets of ten seconds with sound, and a whole recording of each kind.
  private static let captureWithSound = Result { () -> (path: String, whole: [Content]) in
    let (sender, source) = try RecordingTests.soundServer([
      "--frames", "300", "--gop", "15", "--audio", "aac",
    ])
    let path = try Scratch.path("pcapng")
    let receiver = try RunningProcess(Product.rtpRecv, source + ["--capture", path])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let files = try RecordingTests.Container.allCases.map { try Scratch.path($0.rawValue) }
    let player = try RunningProcess(Product.rtpRecv, [path] + files.flatMap { ["-o", $0] })
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    return (path, try files.map { try Content(of: $0) })
  }

  @Test("after kill -9 at any of 20 moments, everything up to the last fragment plays")
  func killed() throws {
    let (capture, whole) = try Self.captureWithSound.get()
    for content in whole {
      #expect(content.pictures.count == 300)
      #expect(content.sound.count > 450)
    }
    var generator = SeededGenerator(seed: 16)
    var lengths: Set<Int> = []
    for _ in 0..<20 {
      let files = try RecordingTests.Container.allCases.map { try Scratch.path($0.rawValue) }
      // At three times the pace at which it was received, ten seconds take little more than one.
      let receiver = try RunningProcess(
        Product.rtpRecv, [capture, "--speed", "3"] + files.flatMap { ["-o", $0] })
      let watched = generator.integer(below: files.count)
      let size = whole[watched].size / 100 * (5 + generator.integer(below: 85))
      try waitUntil("\(size) bytes are written") {
        Scratch.size(of: files[watched]) >= size
      }
      // The moment itself, within a fragment or between two.
      usleep(UInt32(generator.integer(below: 100_000)))
      receiver.send(signal: SIGKILL)
      try receiver.waitForExit()
      for (path, whole) in zip(files, whole) where FileManager.default.fileExists(atPath: path) {
        let found = try Content(of: path)
        // The last pictures may lack one that is shown after them, and what is cut may be broken.
        let pictures = found.pictures.dropLast(3)
        let sound = found.sound.dropLast(2)
        #expect(pictures.elementsEqual(whole.pictures.prefix(pictures.count)), "\(path)")
        #expect(sound.elementsEqual(whole.sound.prefix(sound.count)), "\(path)")
        // As much as the share of the bytes, but for two fragments of a second.
        let share = Double(found.size) / Double(whole.size)
        #expect(Double(found.pictures.count) >= share * 300 - 60, "\(path)")
        #expect(
          Double(found.sound.count) >= (share - 0.2) * Double(whole.sound.count), "\(path)")
        lengths.insert(found.pictures.count)
      }
    }
    #expect(lengths.count > 5)
  }

  /// The sender falls silent after four seconds, without a word; its connection stays.
  @Test("a live recording that is killed has all but its last second")
  func killedLive() throws {
    let server = try RTSPSendTests.Server(
      [("pattern", "live")],
      ["--size", "256x144", "--bitrate", "300k", "--bframes", "2", "--audio", "aac"]
        + ["--frames", "120", "--no-rtcp"])
    let files = try RecordingTests.Container.allCases.map { try Scratch.path($0.rawValue) }
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--timeout", "0", "--stats", "-"] + files.flatMap { ["-o", $0] })
    _ = try receiver.waitForLine(#/"access_units":120,/#)
    func pictures(_ path: String) -> Int {
      // A transport stream's are listed twice.
      let text = try? RecordingTests.probe(path, "stream=nb_read_packets", of: "v")
      return text.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
    }
    try waitUntil("three of four seconds are written", within: .seconds(90)) {
      files.allSatisfy { pictures($0) >= 90 }
    }
    receiver.send(signal: SIGKILL)
    try receiver.waitForExit()
    #expect(try server.stop() == 0)
    let contents = try files.map { try Content(of: $0) }
    let longest = contents.map(\.pictures).max { $0.count < $1.count } ?? []
    for (content, path) in zip(contents, files) {
      #expect((88...120).contains(content.pictures.count), "\(path)")
      // At its end a picture may have come of which those that are shown before it had not.
      let pictures = content.pictures.dropLast(3)
      #expect(pictures.elementsEqual(longest.prefix(pictures.count)), "\(path)")
      #expect(content.sound.count > 130, "\(path): \(content.sound.count)")
    }
  }
}
