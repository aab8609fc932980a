import Foundation
import TestSupport
import Testing

/// `rtp-recv -o camera.mp4` and the like, with FFmpeg and GStreamer to play what it writes.
@Suite(.serialized)
struct RecordingTests {
  enum Container: String, CaseIterable, Sendable {
    case mp4, mkv, ts

    var demuxer: String {
      switch self {
      case .mp4: "qtdemux"
      case .mkv: "matroskademux"
      case .ts: "tsdemux"
      }
    }
  }

  /// A pattern with B pictures at three times its pace.
  static let pattern = [
    "pattern", "--size", "256x144", "--bitrate", "300k", "--bframes", "2", "--speed", "3",
  ]

  private static func server(_ options: [String]) throws -> (RunningProcess, String) {
    let sender = try RunningProcess(
      Product.rtpSend, pattern + ["listen://127.0.0.1:0", "--once"] + options)
    return (sender, String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1))
  }

  /// What ffprobe says of a file, of one kind of stream (`v` or `a`) if it is given.
  private static func probe(
    _ path: String, _ entries: String, of kind: String? = nil
  ) throws -> String {
    let output = try RunningProcess.output(
      of: "ffprobe",
      ["-v", "error", "-count_packets"] + (kind.map { ["-select_streams", $0] } ?? [])
        + ["-show_entries", entries, "-of", "csv=p=0", path])
    return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test(
    "FFmpeg and GStreamer find every picture of a recording", arguments: Container.allCases,
    Clip.Codec.allCases)
  func complete(_ container: Container, codec: Clip.Codec) throws {
    let (sender, address) = try Self.server(["--frames", "120", "--codec", codec.rawValue])
    let recording = try Scratch.path(container.rawValue)
    let reference = try Scratch.path(codec.rawValue)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", recording, "-o", reference])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let hashes = try FFmpeg.frameHashes(of: reference)
    #expect(hashes.count == 120)
    #expect(try FFmpeg.frameHashes(of: recording) == hashes)
    #expect(try Self.probe(recording, "format=duration") == "4.000000")
    let parser = codec == .h264 ? "h264parse ! avdec_h264" : "h265parse ! avdec_h265"
    let pictures = try Scratch.path("yuv")
    _ = try RunningProcess.output(
      of: "gst-launch-1.0",
      ["-q", "filesrc", "location=\(recording)", "!", container.demuxer, "!"]
        + parser.split(separator: " ").map(String.init)
        + ["!", "video/x-raw,format=I420", "!", "filesink", "location=\(pictures)"])
    let size = try FileManager.default.attributesOfItem(atPath: pictures)[.size] as? Int
    #expect(size == 120 * 256 * 144 * 3 / 2)
  }

  @Test("a recording plays while it is written", arguments: Container.allCases)
  func whileWritten(_ container: Container) throws {
    let (sender, address) = try Self.server([])
    let recording = try Scratch.path(container.rawValue)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", recording, "--stats", "-"])
    try receiver.wait(until: "two seconds are written", within: 30) {
      let size = try? FileManager.default.attributesOfItem(atPath: recording)[.size] as? Int
      return size ?? 0 > 80_000
    }
    #expect(try FFmpeg.frameHashes(of: recording).count >= 30)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit(within: 5) == 0)
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  @Test("who knows no options gets a camera's pictures and sound, while they are written")
  func newcomer() throws {
    let server = try RTSPSendTests.Server(
      [("pattern", "live")], ["--size", "256x144", "--bitrate", "300k", "--audio", "pcma"])
    let recording = try Scratch.path("mp4")
    let receiver = try RunningProcess(Product.rtpRecv, [server.url("live"), "-o", recording])
    try waitUntil("pictures and sound", within: .seconds(60)) {
      (try? Self.probe(recording, "stream=codec_name")) == "h264\naac"
    }
    #expect(try !FFmpeg.frameHashes(of: recording).isEmpty)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try server.stop() == 0)
  }

  @Test("a recording goes into a pipe too", arguments: Container.allCases)
  func pipe(_ container: Container) throws {
    let (sender, address) = try Self.server(["--frames", "120"])
    let hashes = try Scratch.path("md5")
    let shell = try RunningProcess(
      "bash",
      [
        "-c", #""$0" "udp://$1" -o - --format "$2" | ffmpeg -v error -i - -f framemd5 "$3""#,
        Product.rtpRecv, address, container.rawValue, hashes,
      ])
    #expect(try shell.waitForExit() == 0, "\(shell.standardError)")
    try sender.waitForExit()
    let lines = try String(contentsOfFile: hashes, encoding: .utf8).split(separator: "\n")
    #expect(lines.filter { !$0.hasPrefix("#") }.count == 120)
  }

  @Test(
    "a loss costs its pictures, and neither the time nor the file", arguments: Container.allCases)
  func losses(_ container: Container) throws {
    let (sender, address) = try Self.server(
      ["--frames", "300", "--loss", "0.03", "--seed", "7", "--bitrate", "1M"])
    let recording = try Scratch.path(container.rawValue)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", recording, "--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["rtp", "lost"] > 0)
    let units = statistics["delivery", "access_units"]
    let found = try Self.probe(recording, "stream=nb_read_packets")
    #expect(found.split(separator: "\n").first.flatMap { Int($0) } == units)
    let length = try #require(Double(try Self.probe(recording, "format=duration")))
    #expect(abs(length - 10) < 0.2)
  }

  @Test("a capture is recorded with the time at which it was taken")
  func captured() throws {
    let folder = try TemporaryFolder()
    let (capture, hashes) = try Self.capture.get()
    let taken = try #require(
      FileManager.default.attributesOfItem(atPath: capture)[.modificationDate] as? Date)
    let receiver = try RunningProcess(
      Product.rtpRecv, [capture, "-o", folder("cam-%Y%m%dT%H%M%SZ.mkv")])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let name = try #require(folder.names.first)
    #expect(try FFmpeg.frameHashes(of: folder(name)) == hashes)
    let text = try Self.probe(folder(name), "format_tags=creation_time").dropLast(8) + "Z"
    let start = try #require(ISO8601DateFormatter().date(from: String(text)))
    #expect(abs(start.timeIntervalSince(taken)) < 30)
  }

  /// The port of a sender that has begun before, in the middle of a group of pictures.
  private static func joined(_ options: [String]) throws -> (RunningProcess, UInt16) {
    let port = try FreePort.udpPair()
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "--size", "256x144", "--bitrate", "300k", "udp://127.0.0.1:\(port)"] + options)
    Thread.sleep(forTimeInterval: 0.7)
    return (sender, port)
  }

  @Test("a recording has as many pictures as are asked for, wherever it begins")
  func asManyPictures() throws {
    let (sender, port) = try Self.joined(["--gop", "60"])
    let recording = try Scratch.path("mp4")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:\(port)", "-o", recording, "--frames", "30", "--expect", "frames=30"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(try Self.probe(recording, "stream=nb_read_packets") == "30")
    #expect(
      receiver.standardError.contains("came before the first key picture"),
      "\(receiver.standardError)")
  }

  @Test("without an intact key picture there is no recording, and that is said")
  func withoutKeyPicture() throws {
    let description = try Scratch.path("sdp")
    let (sender, port) = try Self.joined(["--gop", "10000", "--sdp", description])
    let recording = try Scratch.path("mp4")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:\(port)", "--sdp", description, "-o", recording, "--duration", "1s"])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(
      receiver.standardError.contains(
        "no intact key picture came, with which a recording can begin; wait longer, or ask for one "
          + "with --feedback pli"), "\(receiver.standardError)")
    #expect(!FileManager.default.fileExists(atPath: recording))
  }

  @Test(
    "without a key picture and a description, that is said of what needs pictures",
    arguments: [
      ("mp4", "which come with key pictures: wait longer, or ask for one with --feedback pli"),
      ("wav", "no sound came that is known here"),
    ])
  func withoutParameterSets(ending: String, words: String) throws {
    let (sender, port) = try Self.joined(["--gop", "10000"])
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:\(port)", "-o", Scratch.path(ending), "--duration", "1s"]
        + ["--codec", "h264"])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    #expect(receiver.standardError.contains(words), "\(receiver.standardError)")
    let saysSets = receiver.standardError.contains("parameter sets")
    #expect(saysSets == (ending == "mp4"), "\(receiver.standardError)")
  }

  @Test("segments hold every picture once, and never replace a file")
  func segments() throws {
    let (sender, address) = try Self.server(["--frames", "300"])
    let folder = try TemporaryFolder()
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [
        "udp://\(address)", "-o", folder("cam-%Y%m%d.mp4"), "-o", folder("whole.h264"),
        "--segment", "3s", "--stats", folder("stats"),
      ])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let names = folder.names.filter { $0.hasPrefix("cam-") }
    #expect(names.count == 4)
    // Those of one day have one name, and numbers behind it, by which they are sorted.
    var hashes: [String] = []
    for name in names { hashes += try FFmpeg.frameHashes(of: folder(name)) }
    #expect(try hashes == FFmpeg.frameHashes(of: folder("whole.h264")))
    #expect(receiver.standardError.matches(of: #/ends after 3\.0 s, 90 pictures/#).count == 3)
    let stats = String(decoding: try folder.contents("stats"), as: UTF8.self)
    #expect(stats.contains(#""reason":"time""#))
    #expect(stats.contains(#""reason":"end""#))
  }

  /// A server of a pattern with sound, its address, and what describes it.
  private static func soundServer(
    _ options: [String]
  ) throws -> (sender: RunningProcess, source: [String]) {
    let description = try Scratch.path("sdp")
    let sender = try RunningProcess(
      Product.rtpSend,
      pattern + ["http://127.0.0.1:0", "--once", "--sdp", description] + options)
    let address = String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1)
    return (sender, ["http://\(address)/live", "--sdp", description])
  }

  @Test(
    "pictures and sound that FFmpeg sends are in one recording", arguments: Container.allCases)
  func soundOfFFmpeg(_ container: Container) throws {
    let (video, sound) = (try FreePort.udpPair(), try FreePort.udpPair())
    let description = try Scratch.path("sdp")
    try """
    v=0
    c=IN IP4 127.0.0.1
    m=video \(video) RTP/AVP 96
    a=rtpmap:96 H264/90000
    m=audio \(sound) RTP/AVP 97
    a=rtpmap:97 opus/48000/2

    """.write(toFile: description, atomically: true, encoding: .utf8)
    let recording = try Scratch.path(container.rawValue)
    let receiver = try RunningProcess(
      Product.rtpRecv, [description, "-o", recording, "--timeout", "5"])
    _ = try receiver.waitForLine(#/listening on/#)
    _ = try RunningProcess.output(
      of: "ffmpeg",
      ["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=256x144:rate=30:duration=4"]
        + ["-f", "lavfi", "-i", "sine=duration=4", "-map", "0", "-c:v", "libx264", "-bf", "0"]
        + ["-f", "rtp", "-payload_type", "96", "rtp://127.0.0.1:\(video)?pkt_size=1400"]
        + ["-map", "1", "-ac", "2", "-ar", "48000", "-c:a", "libopus", "-f", "rtp"]
        + ["-payload_type", "97", "rtp://127.0.0.1:\(sound)"])
    #expect([0, 5].contains(try receiver.waitForExit()), "\(receiver.standardError)")
    func packets(_ kind: String) throws -> Int? {
      // A transport stream's are listed twice.
      Int(try Self.probe(recording, "stream=nb_read_packets", of: kind).prefix { $0.isNumber })
    }
    #expect(try packets("v") == 120)
    // 20 ms each; the encoder's delay is before the first picture.
    #expect((196...201).contains(try #require(try packets("a"))))
  }

  @Test("sound that a container cannot hold, and key pictures that are rare, are named once")
  func notes() throws {
    let (sender, source) = try Self.soundServer(
      ["--frames", "270", "--gop", "90", "--audio", "pcmu"])
    let folder = try TemporaryFolder()
    let receiver = try RunningProcess(
      Product.rtpRecv,
      source + [
        "-o", folder("a.mp4"), "-o", folder("b.mkv"), "-o", folder("c.wav"), "--segment", "2s",
        "--stats", folder("stats"),
      ])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let words = receiver.standardError
    #expect(
      words.matches(of: #/the sound is pcmu, which mp4 cannot hold; it is recorded as aac/#).count
        == 1, "\(words)")
    #expect(words.matches(of: #/which (mkv|wav) cannot/#).isEmpty, "\(words)")
    #expect(
      words.matches(of: #/a\S+mp4 ends after 3\.\d s, 90 pictures: .* key picture after 2 s/#)
        .count == 2, "\(words)")
    #expect(
      words.matches(of: #/key pictures come 3\.0 s apart, .* --segment/#).count == 1, "\(words)")
    let stats = String(decoding: try folder.contents("stats"), as: UTF8.self)
    let last = try #require(stats.split(separator: "\n").last)
    #expect(last.contains(#""sound":{"from":"pcmu","to":"aac"}"#))
  }

  /// Whether there is a program that shows what another one asks of the system, and can refuse it.
  private static let mayTrace: Bool = {
    let trace = try? RunningProcess(
      "strace", ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"])
    return (try? trace?.waitForExit(within: 20)) == 0
  }()

  @Test(
    "files are put on the disk, and the folder with their names", .enabled(if: mayTrace))
  func stored() throws {
    let (sender, address) = try Self.server(["--frames", "120"])
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
    let (sender, address) = try Self.server(["--frames", "300"])
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
        + [Product.rtpRecv, "udp://\(address)", "-o", path, "--verbose"])
  }

  @Test(
    "a disk that fails is named at once, and the next file is tried", .enabled(if: mayTrace),
    arguments: Container.allCases)
  func failingDisk(_ container: Container) throws {
    let (sender, address) = try Self.server(["--frames", "600"])
    let folder = try TemporaryFolder()
    let receiver = try Self.receiver(
      from: address, to: folder("cam." + container.rawValue), whileTheDisk: "error=EIO")
    _ = try receiver.waitForLine(
      #/cannot be written: Input\/output error; .*the next file is tried/#)
    #expect(!receiver.standardError.contains("access units"))
    #expect(try receiver.waitForExit() == 6)
    try sender.waitForExit()
    #expect(receiver.standardError.contains("600 access units"), "\(receiver.standardError)")
    #expect(receiver.standardError.contains("the recording has a hole"))
    #expect(folder.names.count >= 2)
    for name in folder.names {
      #expect(try !FFmpeg.frameHashes(of: folder(name)).isEmpty, "\(name)")
    }
  }

  @Test(
    "a disk that stalls is named while it does, and nothing is lost", .enabled(if: mayTrace))
  func stalledDisk() throws {
    let (sender, address) = try Self.server(["--frames", "480", "--fps", "10"])
    let path = try Scratch.path("mp4")
    let receiver = try Self.receiver(
      from: address, to: path, whileTheDisk: "delay_enter=6000000")
    _ = try receiver.waitForLine(
      #/warning: the disk has not taken what is written to .* for \d+ s/#)
    #expect(!receiver.standardError.contains("access units"))
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(try Self.probe(path, "stream=nb_read_packets") == "480")
  }

  /// Whether a file system of a test's own can be mounted.
  private static let mayMount: Bool = {
    let mount = try? RunningProcess(
      "unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=128k", "none", "/mnt"])
    return (try? mount?.waitForExit(within: 20)) == 0
  }()

  @Test(
    "on a full file system all files end whole, and receiving goes on",
    .enabled(if: mayMount, "file systems may not be mounted here"), arguments: Container.allCases)
  func fullFileSystem(_ container: Container) throws {
    let (sender, address) = try Self.server(["--frames", "300"])
    let folder = try TemporaryFolder()
    let kept = try TemporaryFolder()
    // What is mounted is gone with the shell.
    let script = #"""
      mount -t tmpfs -o size=128k none "$1" || exit 1
      "$0" "$2" -o "$1/cam.$3" --segment 1s --verbose
      status=$?
      cp "$1"/* "$4" && exit $status
      """#
    let receiver = try RunningProcess(
      "unshare",
      ["-m", "bash", "-c", script, Product.rtpRecv, folder.path, "udp://\(address)"]
        + [container.rawValue, kept.path])
    _ = try receiver.waitForLine(
      #/cannot be written: No space left on device; .* next file is tried/#)
    #expect(receiver.standardError.contains("access units") == false)
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    try sender.waitForExit()
    #expect(receiver.standardError.contains("300 access units"), "\(receiver.standardError)")
    #expect(receiver.standardError.contains("the recording has a hole"))
    // 30 kB each.
    #expect(kept.names.count >= 2, "\(kept.names)")
    for name in kept.names {
      let frames = try FFmpeg.frameHashes(of: kept(name)).count
      #expect((1...30).contains(frames), "\(name) has \(frames) pictures")
    }
  }

  @Test("old segments are deleted, and nothing else")
  func retention() throws {
    let (sender, address) = try Self.server(["--frames", "300"])
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
    "options that have no effect are mistakes",
    arguments: [
      (["-o", "a.y4m", "--segment", "10m"], "--segment has no effect without a recording"),
      (["-o", "a.mp4", "--keep", "7d"], "--keep has no effect on one file"),
      (["-o", "a-%Q.mp4"], "%Q is no part of a time"),
      (["-o", "a-%05d.mp4"], "named by their time"),
      (["-o", "a.mp4", "--segment", "0s"], "invalid"),
      (["-o", "a.mp4", "--segment", "1e3m"], "invalid"),
      (["-o", "a.mp4", "--segment", "10"], "invalid"),
      (["-o", "a.mp4", "--segment", "1h", "--keep", "7"], "invalid"),
    ])
  func mistakes(arguments: [String], words: String) throws {
    let receiver = try RunningProcess(Product.rtpRecv, ["rtp://127.0.0.1:0"] + arguments)
    #expect(try receiver.waitForExit() == 64)
    #expect(receiver.standardError.contains(words), "\(receiver.standardError)")
  }

  /// The packets of a pattern with a key picture every half second, and what it decodes to.
  private static let capture = Result { () -> (path: String, hashes: [String]) in
    let (sender, address) = try server(["--frames", "450", "--gop", "15"])
    let path = try Scratch.path("pcapng")
    let stream = try Scratch.path("h264")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "--capture", path, "-o", stream])
    try receiver.waitForExit()
    try sender.waitForExit()
    return (path, try FFmpeg.frameHashes(of: stream))
  }

  /// What is in a recording: hashes of the decoded pictures and of the packets of sound.
  private struct Content {
    var pictures: [String] = []
    var sound: [String] = []
    let size: Int

    init(of path: String) throws {
      size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
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
    let (sender, source) = try soundServer(["--frames", "300", "--gop", "15", "--audio", "aac"])
    let path = try Scratch.path("pcapng")
    let receiver = try RunningProcess(Product.rtpRecv, source + ["--capture", path])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let files = try Container.allCases.map { try Scratch.path($0.rawValue) }
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
      let files = try Container.allCases.map { try Scratch.path($0.rawValue) }
      // At three times the pace at which it was received, ten seconds take little more than one.
      let receiver = try RunningProcess(
        Product.rtpRecv, [capture, "--speed", "3"] + files.flatMap { ["-o", $0] })
      let watched = generator.integer(below: files.count)
      let size = whole[watched].size / 100 * (5 + generator.integer(below: 85))
      try waitUntil("\(size) bytes are written") {
        let path = files[watched]
        let found = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        return found ?? 0 >= size
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
}
