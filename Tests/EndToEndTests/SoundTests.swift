import Foundation
import TestSupport
import Testing

/// Sound as FFmpeg sends it, by itself.
@Suite(.serialized)
struct SoundTests {
  struct Row: Sendable, CustomTestStringConvertible {
    /// FFmpeg's arguments for the encoder.
    let encoder: String
    /// FFmpeg says goodbye only when it is told to.
    var flags = "send_bye"
    /// The `m=` line's type and the lines behind it; `nil` for a static type without a description.
    var description: [String]?
    let codec: String
    /// Of two seconds; the encoders of AAC and Opus put some before the sound, and FFmpeg
    /// does not send the last units of AAC, which it has gathered for a packet.
    let samples: Int
    var tolerance = 0

    var testDescription: String { encoder }
  }

  private static let rows = [
    Row(encoder: "pcm_mulaw -ar 8000", codec: "pcmu", samples: 16_000),
    Row(encoder: "pcm_alaw -ar 8000", codec: "pcma", samples: 16_000),
    Row(encoder: "g722 -ar 16000", codec: "g722", samples: 32_000),
    Row(encoder: "pcm_s16be -ar 44100 -ac 2", codec: "l16", samples: 88_200),
    Row(
      encoder: "pcm_s24be -ar 48000 -ac 2", description: ["97", "a=rtpmap:97 L24/48000/2"],
      codec: "l24", samples: 96_000),
    Row(
      encoder: "pcm_mulaw -ar 16000 -ac 2", description: ["97", "a=rtpmap:97 PCMU/16000/2"],
      codec: "pcmu", samples: 32_000),
    Row(
      encoder: "g726 -ar 8000 -b:a 32k", description: ["97", "a=rtpmap:97 AAL2-G726-32/8000"],
      codec: "g726", samples: 16_000),
    Row(
      encoder: "g726le -ar 8000 -b:a 24k", description: ["97", "a=rtpmap:97 G726-24/8000"],
      codec: "g726le", samples: 16_000, tolerance: 8),
    Row(
      encoder: "aac -ar 44100",
      description: [
        "97", "a=rtpmap:97 MPEG4-GENERIC/44100/1",
        "a=fmtp:97 profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;"
          + " config=120856E500",
      ], codec: "aac", samples: 88_200, tolerance: 8192),
    Row(
      encoder: "aac -ar 44100", flags: "latm+send_bye",
      description: [
        "97", "a=rtpmap:97 MP4A-LATM/44100/1",
        "a=fmtp:97 profile-level-id=41;cpresent=0;config=400024103fc0",
      ], codec: "aac", samples: 88_200, tolerance: 3072),
    Row(
      encoder: "libopus", description: ["97", "a=rtpmap:97 opus/48000/2"], codec: "opus",
      samples: 96_000, tolerance: 1920),
  ]

  @Test("every coding that FFmpeg sends is taken out of its packets", arguments: rows)
  func codings(_ row: Row) throws {
    var source = "rtp://127.0.0.1:0"
    var port = try FreePort.udpPair()
    if let description = row.description {
      source = try Scratch.path("sdp")
      let head = ["v=0", "c=IN IP4 127.0.0.1", "m=audio \(port) RTP/AVP \(description[0])"]
      try (head + description.dropFirst()).map { $0 + "\r\n" }.joined()
        .write(toFile: source, atomically: true, encoding: .utf8)
    }
    let receiver = try RunningProcess(
      Product.rtpRecv, [source, "--stats", "-", "--expect", "audio=\(row.codec)"])
    let line = try receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#)
    port = try #require(UInt16(line.1))
    let sender = try RunningProcess(
      "ffmpeg",
      "-v error -re -f lavfi -i sine=duration=2 -c:a \(row.encoder) -f rtp "
        .appending("-rtpflags \(row.flags) rtp://127.0.0.1:\(port)").split(separator: " ").map(
          String.init))
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("s of sound (\(row.codec), "))
    let sound = try #require(try Self.sound(of: receiver))
    #expect(sound["codec"] as? String == row.codec)
    let samples = try #require(sound["samples"] as? Int)
    #expect(abs(samples - row.samples) <= row.tolerance, "\(samples)")
    for name in ["missing_samples", "silent_samples", "malformed_payloads", "lost_packets"] {
      #expect(sound[name] as? Int == 0, "\(name)")
    }
  }

  /// What the last line of the statistics says of the sound.
  private static func sound(of receiver: RunningProcess) throws -> [String: Any]? {
    try tracks(of: receiver).lazy.compactMap { $0["sound"] as? [String: Any] }.first
  }

  /// What the last line of the statistics says of the tracks.
  private static func tracks(of receiver: RunningProcess) throws -> [[String: Any]] {
    let line = String(decoding: receiver.standardOutput, as: UTF8.self).split(separator: "\n").last
    let object = try JSONSerialization.jsonObject(with: Data(try #require(line).utf8))
    return (object as? [String: Any])?["tracks"] as? [[String: Any]] ?? []
  }

  /// Serves two seconds of the pattern with AAC, as fast as it is read.
  private static func server(describedIn path: String) throws -> SendingServer {
    try SendingServer(
      "pattern",
      ["--audio", "aac", "--size", "256x144", "--frames", "60", "--fast", "--sdp", path])
  }

  @Test("sound on the video's connection is known by the description that is given")
  func besideVideo() throws {
    let description = try Scratch.path("sdp")
    let server = try Self.server(describedIn: description)
    let outputs = try ["mp4", "mkv", "wav", "aac", "opus"].map { try Scratch.path($0) }
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url, "--sdp", description, "--verbose"] + outputs.flatMap { ["-o", $0] })
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    // What has no pictures has none in its message.
    #expect(receiver.standardError.matches(of: #/complete: \d\.\d s, 60 pictures/#).count == 2)
    #expect(receiver.standardError.matches(of: #/complete: .* \d+ pieces of sound/#).count == 3)
    for (path, codec) in zip(outputs, ["aac", "aac", "pcm_s16le", "aac", "opus"]) {
      let found = try RunningProcess.output(
        of: "ffprobe",
        ["-v", "error", "-select_streams", "a", "-show_entries", "stream=codec_name,sample_rate"]
          + ["-of", "csv=p=0", path])
      #expect(String(decoding: found, as: UTF8.self) == "\(codec),48000\n", "\(path)")
      let samples = try FFmpeg.output(["-i", path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-"])
      // Two seconds, without what an encoder or a muxer puts around them.
      #expect(abs(samples.count / 2 - 96_000) < 4800, "\(path): \(samples.count / 2)")
    }
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
  }

  @Test("what is lost or comes twice is told of each track")
  func lossesOfTracks() throws {
    let description = try Scratch.path("sdp")
    let server = try SendingServer(
      "pattern",
      ["--audio", "aac", "--size", "256x144", "--frames", "120", "--fast", "--sdp", description]
        + ["--loss", "0.03", "--duplicate", "0.05", "--seed", "5", "--stats", "-"])
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url, "--sdp", description, "--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
    let sent = try Statistics(lastLineOf: server.process)
    let tracks = try Self.tracks(of: receiver)
    #expect(tracks.count == 2 && sent["lost"] > 0 && sent["duplicated"] > 0)
    for (name, sum) in [("lost", sent["lost"]), ("duplicate", sent["duplicated"]), ("late", 0)] {
      let counts = tracks.map { $0[name] as? Int ?? -1 }
      #expect(counts.reduce(0, +) == sum, "\(name): \(counts)")
    }
  }

  @Test(
    "a capture has the description that was given, or gets it when it is played",
    arguments: [true, false])
  func captured(withDescription: Bool) throws {
    let description = try Scratch.path("sdp")
    let given = ["--sdp", description]
    let server = try Self.server(describedIn: description)
    let capture = try Scratch.path("pcapng")
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url, "--capture", capture] + (withDescription ? given : []))
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    let outputs = try ["mp4", "wav"].map { try Scratch.path($0) }
    let player = try RunningProcess(
      Product.rtpRecv,
      [capture] + outputs.flatMap { ["-o", $0] } + (withDescription ? [] : given))
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    for path in outputs {
      let samples = try FFmpeg.output(["-i", path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-"])
      #expect(abs(samples.count / 2 - 96_000) < 4800, "\(path): \(samples.count / 2)")
    }
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
  }

  @Test("an output of sound that stays empty is no success")
  func withoutADescription() throws {
    let server = try Self.server(describedIn: try Scratch.path("sdp"))
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url, "-o", try Scratch.path("y4m"), "-o", try Scratch.path("wav")])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("no sound came"), "\(receiver.standardError)")
    // What was not described was not measured.
    let measured = try RunningProcess(
      Product.rtpRecv, [server.url, "--expect", "audio=none", "--frames", "50"])
    #expect(try measured.waitForExit() == 16, "\(measured.standardError)")
    #expect(measured.standardError.contains("which may be sound"), "\(measured.standardError)")
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
  }

  @Test("sound that recordings are without is told")
  func unknownCoding() throws {
    let description = try Scratch.path("sdp")
    let server = try SendingServer(
      "pattern",
      ["--audio", "pcmu", "--audio-payload-type", "97", "--size", "256x144", "--frames", "60"]
        + ["--fast", "--sdp", description])
    try String(contentsOfFile: description, encoding: .utf8)
      .replacing("PCMU/", with: "SPEEX/")
      .write(toFile: description, atomically: true, encoding: .utf8)
    for (options, expected) in [
      (["--sdp", description], "warning: the sound is SPEEX, which is not known here; recordings"),
      ([], "warning: packets of payload type 97 come too, and recordings are without them; if"),
    ] {
      let receiver = try RunningProcess(
        Product.rtpRecv, [server.url, "-o", try Scratch.path("mp4")] + options)
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      #expect(receiver.standardError.contains(expected), "\(receiver.standardError)")
    }
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
  }

  @Test(
    "what is known is received beside video of another codec",
    arguments: [
      ("H264/", "VP8/", ["-o", "wav"]), ("H264/", "X-H264/", ["-o", "mp4", "--codec", "h264"]),
      ("m=video", "m=video 9 RTP/AVP 26\r\nm=video", ["-o", "mp4"]),
    ])
  func besideUnknownVideo(_ said: String, _ instead: String, _ options: [String]) throws {
    let description = try Scratch.path("sdp")
    let server = try Self.server(describedIn: description)
    try String(contentsOfFile: description, encoding: .utf8).replacing(said, with: instead)
      .write(toFile: description, atomically: true, encoding: .utf8)
    let output = try Scratch.path(options[1])
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url, "--sdp", description, "--verbose", "-o", output] + options.dropFirst(2))
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(
      receiver.standardError.contains("60 pictures") == (options[1] == "mp4"),
      "\(receiver.standardError)")
    let samples = try FFmpeg.output(["-i", output, "-map", "0:a", "-f", "s16le", "-ac", "1", "-"])
    #expect(abs(samples.count / 2 - 96_000) < 4800, "\(samples.count / 2)")
    server.process.send(signal: SIGTERM)
    try server.process.waitForExit()
  }

  @Test("sound alone that nothing describes is not called a lack of video")
  func undescribedAlone() throws {
    let port = try FreePort.udpPair()
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:\(port)", "-o", try Scratch.path("wav")])
    _ = try receiver.waitForLine(#/listening on/#)
    let sender = try RunningProcess(
      Product.rtpSend, ["pattern", "udp://127.0.0.1:\(port)", "--audio", "opus", "--no-video"])
    #expect(try receiver.waitForExit() == 9, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let words = receiver.standardError
    #expect(words.contains("if they are sound, give their session description"), "\(words)")
    #expect(words.contains("; no sound was recognized"), "\(words)")
  }

  @Test("where the source describes no sound, no other description is asked for")
  func describedWithoutSound() throws {
    let server = try GStreamerServer(Clip.h264.get())
    let sound = try Scratch.path("wav")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url(), "--frames", "60", "-o", sound, "-o", Scratch.path("mp4")])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    let words = receiver.standardError
    #expect(words.contains("\(sound): no sound came; the source describes none"), "\(words)")
    #expect(words.contains("warning: the source describes no sound\n"), "\(words)")
    #expect(!words.contains("--sdp") && !words.contains("decoded"), "\(words)")
  }

  @Test("where sound alone is wanted and none is described, the run ends at once")
  func nothingButPictures() throws {
    let server = try GStreamerServer(Clip.h264.get())
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url(), "--reconnect", "-o", Scratch.path("wav")])
    #expect(try receiver.waitForExit() == 9, "\(receiver.standardError)")
    let words = receiver.standardError
    #expect(words.contains("there is no sound in it, but video (H264)"), "\(words)")
  }

  @Test("sound alone has no frames to count, and times that can be measured")
  func soundAlone() throws {
    let port = try FreePort.udpPair()
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtp://127.0.0.1:\(port)", "--frames", "100", "--stats", "-"]
        + ["--expect", "gap<1min, duration>=2s, audio=pcmu, loss<=50%, lost<100, jitter<1min"])
    _ = try receiver.waitForLine(#/listening on/#)
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "udp://127.0.0.1:\(port)", "--audio", "pcmu", "--no-video", "--frames", "75"])
    #expect(try receiver.waitForExit() == 13, "\(receiver.standardError)")
    try sender.waitForExit()
    let words = receiver.standardError
    #expect(words.contains("warning: only sound comes, in which --frames"), "\(words)")
    #expect(words.contains("only sound came, in which --frames has nothing to count"), "\(words)")
    #expect(!words.contains("expected") && !words.contains("could not be measured"), "\(words)")
  }
}
