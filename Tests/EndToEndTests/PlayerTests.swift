import Foundation
import TestSupport
import Testing

/// GStreamer, VLC and Chromium play every kind of recording that they know, with the sound.
@Suite(.serialized)
struct PlayerTests {
  /// A kind of recording: what a sender sends, and the file that it comes to.
  struct Kind: Hashable, Sendable, CustomTestStringConvertible {
    var source = Source.plain
    let ending: String

    var hasPictures: Bool { ["mp4", "mkv", "ts"].contains(ending) }
    var testDescription: String { "\(ending), \(source)" }
  }

  /// Three seconds of the pattern.
  enum Source: String, CaseIterable, Sendable {
    case plain
    /// The times of presentation are not those of decoding.
    case bidirectional
    case h265
    case opus
    /// No player takes G.711 out of MP4, so it becomes AAC.
    case converted

    var options: [String] {
      switch self {
      case .plain: ["--audio", "aac"]
      case .bidirectional: ["--audio", "aac", "--bframes", "2"]
      case .h265: ["--audio", "aac", "--codec", "h265"]
      case .opus: ["--audio", "opus"]
      case .converted: ["--audio", "pcma"]
      }
    }
  }

  private static let kinds =
    ["mp4", "mkv", "ts", "wav", "aac", "opus"].map { Kind(ending: $0) }
    + [.bidirectional, .h265, .opus].flatMap { (source: Source) in
      ["mp4", "mkv"].map { Kind(source: source, ending: $0) }
    } + [Kind(source: .converted, ending: "mp4")]

  /// The files of all kinds, which are made once.
  private static let recordings = Result { () -> [Kind: String] in
    var recordings: [Kind: String] = [:]
    for source in Source.allCases {
      let description = try Scratch.path("sdp")
      let server = try SendingServer(
        "pattern",
        source.options + ["--size", "256x144", "--frames", "90", "--fast", "--sdp", description])
      let files = try kinds.filter { $0.source == source }
        .map { ($0, try Scratch.path($0.ending)) }
      let receiver = try RunningProcess(
        Product.rtpRecv, [server.url, "--sdp", description] + files.flatMap { ["-o", $0.1] })
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      server.process.send(signal: SIGTERM)
      try server.process.waitForExit()
      recordings.merge(files) { $1 }
    }
    return recordings
  }

  @Test("GStreamer plays all pictures and the sound", arguments: kinds)
  func gstreamer(kind: Kind) throws {
    let path = try #require(try Self.recordings.get()[kind])
    let (pictures, samples) = (try Scratch.path("yuv"), try Scratch.path("pcm"))
    let video =
      "d. ! queue ! videoconvert ! video/x-raw,format=I420 ! filesink location=\(pictures)"
    let sound =
      "d. ! queue ! audioconvert ! audioresample ! audio/x-raw,format=S16LE,channels=1,rate=48000"
      + " ! filesink location=\(samples)"
    _ = try RunningProcess.output(
      of: "gst-launch-1.0",
      "-q filesrc location=\(path) ! decodebin name=d \(kind.hasPictures ? video : "") \(sound)"
        .split(separator: " ").map(String.init))
    func size(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    }
    if kind.hasPictures { #expect(try size(pictures) == 90 * 256 * 144 * 3 / 2) }
    // What an encoder puts around the sound is part of it or not.
    let length = Double(try #require(try size(samples))) / 96_000
    #expect(abs(length - 3) < 0.1)
  }

  @Test("VLC decodes the pictures and the sound to the end", arguments: kinds)
  func vlc(kind: Kind) throws {
    let path = try #require(try Self.recordings.get()[kind])
    // It says nothing of what it plays, so it codes that again, 25 pictures a second.
    let output =
      "#transcode{vcodec=mp2v,vb=800,acodec=mpga,ab=128,samplerate=48000}"
      + ":std{access=file,mux=ts,dst=-}"
    var command = ["cvlc", "--quiet", path, "--sout-all", "--sout", output, "vlc://quit"]
    if geteuid() == 0 {
      // VLC does not run as root. It would keep settings in its home, which it does not need.
      command = ["runuser", "-u", "nobody", "--", "env", "HOME=/nonexistent"] + command
    }
    let stream = try Scratch.path("ts")
    try RunningProcess.output(of: "env", command).write(to: URL(fileURLWithPath: stream))
    // Its demuxers leave the last fifth of a second out.
    func durations(_ kind: String) throws -> [Double] {
      let listing = try RunningProcess.output(
        of: "ffprobe",
        ["-v", "error", "-select_streams", kind, "-show_entries", "packet=duration_time"]
          + ["-of", "default=nw=1:nk=1", stream])
      return String(decoding: listing, as: UTF8.self).split(separator: "\n").map { Double($0) ?? 0 }
    }
    if kind.hasPictures { #expect((65...76).contains(try durations("v").count)) }
    #expect((2.64...3.12).contains(try durations("a").reduce(0, +)))
  }

  /// A page that plays one file and writes to the console what came of it.
  private static func page(playing path: String) -> String {
    """
    <video id=v muted autoplay src="file://\(path)"></video>
    <script>
      const report = (end) => console.log("played " + JSON.stringify({
        end, seconds: v.currentTime, width: v.videoWidth, height: v.videoHeight,
        pictures: v.getVideoPlaybackQuality().totalVideoFrames, sound: v.webkitAudioDecodedByteCount
      }))
      v.onended = () => report("ended")
      v.onerror = () => report(v.error.message)
    </script>
    """
  }

  /// The page's line.
  private struct Played: Decodable {
    var end: String
    var seconds: Double
    var width: Int
    var height: Int
    var pictures: Int
    /// Bytes of it that were decoded.
    var sound: Int
  }

  @Test(
    "Chromium plays the pictures and the sound to the end",
    // It knows neither transport streams nor, without a GPU, H.265.
    arguments: kinds.filter { $0.ending != "ts" && $0.source != .h265 })
  func chromium(kind: Kind) throws {
    let recording = try #require(try Self.recordings.get()[kind])
    let page = try Scratch.path("html")
    try Self.page(playing: recording).write(toFile: page, atomically: true, encoding: .utf8)
    let profile = try TemporaryFolder()
    let browser = try RunningProcess(
      "chromium",
      ["--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(profile.url.path)"]
        + ["--autoplay-policy=no-user-gesture-required", "--enable-logging=stderr"]
        + ["file://\(page)"])
    let line = try browser.waitForLine(/"played (\{.*\})"/).output.1
    browser.send(signal: SIGTERM)
    try browser.waitForExit()
    let played = try JSONDecoder().decode(Played.self, from: Data(line.utf8))
    #expect(played.end == "ended")
    #expect(abs(played.seconds - 3) < 0.1)
    #expect(played.sound > 0)
    if kind.hasPictures {
      #expect((played.width, played.height) == (256, 144))
      #expect(played.pictures == 90)
    }
  }
}
