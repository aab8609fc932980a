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

  static func server(_ options: [String]) throws -> (RunningProcess, String) {
    let sender = try RunningProcess(
      Product.rtpSend, pattern + ["listen://127.0.0.1:0", "--once"] + options)
    return (sender, String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1))
  }

  /// What ffprobe says of a file, of one kind of stream (`v` or `a`) if it is given.
  static func probe(
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
    #expect(Scratch.size(of: pictures) == 120 * 256 * 144 * 3 / 2)
  }

  @Test("a recording plays while it is written", arguments: Container.allCases)
  func whileWritten(_ container: Container) throws {
    let (sender, address) = try Self.server([])
    let recording = try Scratch.path(container.rawValue)
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", recording, "--stats", "-"])
    try waitUntil("two seconds are written") { Scratch.size(of: recording) > 80_000 }
    #expect(try FFmpeg.frameHashes(of: recording).count >= 30)
    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0)
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
    try PassingStream.wait(on: port, for: 0.7)
    return (sender, port)
  }

  @Test("a recording has as many pictures as are asked for, wherever it begins")
  func asManyPictures() throws {
    let (sender, port) = try Self.joined(["--gop", "150"])
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
  static func soundServer(
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
    let ports = try DescribedPorts(sound: "a=rtpmap:97 opus/48000/2")
    let recording = try Scratch.path(container.rawValue)
    let receiver = try RunningProcess(
      Product.rtpRecv, [ports.description, "-o", recording, "--timeout", "60"])
    _ = try receiver.waitForLine(#/listening on/#)
    _ = try RunningProcess.output(
      of: "ffmpeg",
      ["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=256x144:rate=30:duration=4"]
        + ["-f", "lavfi", "-i", "sine=duration=4", "-map", "0", "-c:v", "libx264", "-bf", "0"]
        + ["-f", "rtp", "-rtpflags", "send_bye", "-payload_type", "96"]
        + ["rtp://127.0.0.1:\(ports.video)?pkt_size=1400"]
        + ["-map", "1", "-ac", "2", "-ar", "48000", "-c:a", "libopus", "-f", "rtp"]
        + ["-rtpflags", "send_bye", "-payload_type", "97", "rtp://127.0.0.1:\(ports.sound)"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    func packets(_ kind: String) throws -> Int? {
      // A transport stream's are listed twice.
      Int(try Self.probe(recording, "stream=nb_read_packets", of: kind).prefix { $0.isNumber })
    }
    #expect(try packets("v") == 120)
    // 20 ms each; the encoder's delay is before the first picture.
    #expect((196...201).contains(try #require(try packets("a"))))
  }

  @Test("pictures and sound of GStreamer's server are in one recording")
  func soundOfGStreamer() throws {
    let clip = try Clip.of(.h264)
    let server = try GStreamerServer(clip, ["--sound-first"])
    let recordings = try Container.allCases.map { try Scratch.path($0.rawValue) }
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url(), "--rtsp-transport", "tcp", "--frames", "\(clip.frames)"]
        + recordings.flatMap { ["-o", $0] })
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    for recording in recordings {
      #expect(try FFmpeg.frameHashes(of: recording) == clip.hashes)
      #expect(try SoundAloneTests.share(of: 440, in: recording) > 0.9)
    }
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

  /// What a sender does at its second key picture, and what is said of the file that it ends.
  static let reasons = [
    ("1 size 320x240", "the stream changed its parameter sets"),
    ("1 parameter-sets", "the stream changed its parameter sets"),
    ("1 jump timestamp 900000", "the sender's clock leapt"),
    ("1 jump timestamp -900000", "the sender's clock leapt"),
    ("1-4 silence", "nothing came for some time"),
  ]

  @Test("what cannot follow in a file begins another, and why is said", arguments: reasons)
  func newFile(event: String, reason: String) throws {
    let plan = try Scratch.path("plan")
    try event.write(toFile: plan, atomically: true, encoding: .utf8)
    let isSilence = event.hasSuffix("silence")
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "--size", "256x144", "--bitrate", "300k", "listen://127.0.0.1:0", "--once"]
        + ["--frames", isSilence ? "150" : "90", "--gop", "30", "--plan", plan])
    let address = String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1)
    let folder = try TemporaryFolder()
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "--verbose", "--timeout", "20"]
        + Container.allCases.flatMap { ["-o", folder("cam.\($0)")] } + ["-o", folder("all.h264")])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let ends = receiver.standardError.matches(of: #/cam\.\w+ ends after 1\.0 s, 30 pictures: (.*)/#)
    #expect(ends.map { String($0.1) } == [reason, reason, reason], "\(receiver.standardError)")
    let hashes = try FFmpeg.frameHashes(of: folder("all.h264"))
    for container in Container.allCases {
      // The first one has no number.
      let names = folder.names.filter { $0.hasSuffix(".\(container)") }.sorted {
        ($0.count, $0) < ($1.count, $1)
      }
      #expect(names.count == 2, "\(folder.names)")
      var found: [String] = []
      for name in names { found += try FFmpeg.frameHashes(of: folder(name)) }
      #expect(found.count == (isSilence ? 60 : 90), "\(container)")
      // FFmpeg shows all pictures of one file in the size of the first.
      let isEqual = found == hashes
      #expect(isEqual || event.contains("size"), "\(container)")
    }
  }

  @Test(
    "options that have no effect are mistakes",
    arguments: [
      (["-o", "a.y4m", "--segment", "10m"], "--segment has no effect without a recording"),
      (["-o", "a.mp4", "--keep", "7d"], "--keep has no effect on one file"),
      (["-o", "a.jpg", "--keep", "7d"], "pictures need --every or such a name"),
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
}
