import Foundation
import TestSupport
import Testing

/// What is still being written, and what comes through a pipe, is sent whole: frames equal the
/// source.
@Suite(.serialized)
struct GrowingSourceTests {
  struct Writer: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var codec = Clip.Codec.h264
    /// What is followed.
    var name: String
    /// Whether the pictures come without their parameter sets.
    var needsSets = false
    /// Whether the pictures are its own, and not those of the clip.
    var hasOwnPictures = false
    /// Whether it says which files it has closed, because it sometimes never ends.
    var mayNeverEnd = false
    /// In a folder, with the clip.
    var command: @Sendable (Clip, String) -> [String]
  }

  private static func ffmpeg(_ clip: Clip, _ output: [String]) -> [String] {
    ["ffmpeg", "-nostdin", "-v", "error", "-re", "-i", clip.container, "-c", "copy"]
      + ["-flush_packets", "1"] + output
  }

  /// As many pictures as the clip has.
  private static func gstreamer(_ clip: Clip, _ sink: String) -> [String] {
    let pictures =
      "videotestsrc num-buffers=\(clip.frames) pattern=ball "
      + "! video/x-raw,width=320,height=240,framerate=100/1 "
      + "! x264enc bframes=2 key-int-max=60 ! h264parse"
    let words = "\(pictures) ! \(sink)".split(separator: " ").map(String.init)
    return ["gst-launch-1.0", "--messages"] + words
  }

  static let writers = [
    Writer(testDescription: "FFmpeg, Annex B", name: "cam.h264") { ffmpeg($0, [$1 + "/cam.h264"]) },
    Writer(testDescription: "FFmpeg, H.265", codec: .h265, name: "cam.h265") {
      ffmpeg($0, [$1 + "/cam.h265"])
    },
    Writer(testDescription: "FFmpeg, fragments", name: "cam.mp4") {
      ffmpeg(
        $0, ["-movflags", "frag_every_frame+empty_moov+default_base_moof", $1 + "/cam.mp4"])
    },
    Writer(testDescription: "FFmpeg, fragments of H.265", codec: .h265, name: "cam.mp4") {
      ffmpeg($0, ["-movflags", "frag_keyframe+empty_moov", $1 + "/cam.mp4"])
    },
    Writer(testDescription: "FFmpeg, without its index", name: "cam.mp4", needsSets: true) {
      ffmpeg($0, [$1 + "/cam.mp4"])
    },
    Writer(
      testDescription: "FFmpeg, H.265 without its index", codec: .h265, name: "cam.mp4",
      needsSets: true
    ) {
      ffmpeg($0, [$1 + "/cam.mp4"])
    },
    Writer(testDescription: "FFmpeg, many files", name: "cam-%05d.mp4", needsSets: true) {
      ffmpeg(
        $0,
        ["-f", "segment", "-segment_time", "0.6", "-reset_timestamps", "1", $1 + "/cam-%05d.mp4"])
    },
    Writer(
      testDescription: "GStreamer, without its index", name: "cam.mp4", needsSets: true,
      hasOwnPictures: true
    ) {
      gstreamer($0, "mp4mux ! filesink buffer-mode=unbuffered location=\($1)/cam.mp4")
    },
    Writer(testDescription: "GStreamer, fragments", name: "cam.mp4", hasOwnPictures: true) {
      gstreamer(
        $0,
        "mp4mux fragment-duration=100 streamable=true ! filesink buffer-mode=unbuffered location=\($1)/cam.mp4"
      )
    },
    Writer(
      testDescription: "GStreamer, many files", name: "cam-*.mp4", needsSets: true,
      hasOwnPictures: true, mayNeverEnd: true
    ) {
      gstreamer($0, "splitmuxsink max-size-time=600000000 location=\($1)/cam-%05d.mp4")
    },
  ]

  @Test("a file that is still being written", arguments: writers)
  func follows(writer: Writer) throws {
    let clip = try Clip.of(writer.codec)
    let folder = try TemporaryFolder()
    let output = try Scratch.path("y4m")
    var sets = clip.path
    if writer.hasOwnPictures {
      // What the same writer wrote before.
      sets = try Scratch.path("mp4")
      let command = Self.gstreamer(clip, "mp4mux ! filesink location=\(sets)")
      _ = try RunningProcess.output(of: command[0], Array(command.dropFirst()))
    }
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--codec", writer.codec.rawValue, "-o", output])
    let port = try receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let sender = try RunningProcess(
      Product.rtpSend,
      ["--follow", folder(writer.name), "udp://127.0.0.1:\(port)", "--frames", "\(clip.frames)"]
        + (writer.needsSets ? ["--parameter-sets", sets] : []))
    _ = try sender.waitForLine(#/waiting for/#)
    let command = writer.command(clip, folder.path)
    let process = try RunningProcess(command[0], Array(command.dropFirst()))
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    if writer.mayNeverEnd {
      // In one run of ten, splitmuxsink of GStreamer 1.22 closes its last file and waits for ever.
      let last = try #require(folder.names.max())
      _ = try process.waitForLine(Regex("fragment-closed.*\(last)"))
      process.send(signal: SIGKILL)
    } else {
      #expect(try process.waitForExit() == 0, "\(process.standardError)")
    }
    let expected =
      writer.hasOwnPictures
      ? try folder.names.sorted().flatMap { try FFmpeg.frameHashes(of: folder($0)) } : clip.hashes
    #expect(try FFmpeg.frameHashes(of: output) == expected, "\(sender.standardError)")
  }

  /// Whoever comes, also after nobody was there for a while, begins at a key picture and misses
  /// nothing, and the session goes on where the writer goes on with another file.
  @Test(arguments: ["cam.h264", "cam-%05d.h264"]) func clientsOfRTSPComeAndGo(name: String) throws {
    let clip = try Clip.h264.get()
    let folder = try TemporaryFolder()
    let sender = try RunningProcess(
      Product.rtpSend, ["--follow", folder(name), "rtsp://127.0.0.1:0/cam"])
    _ = try sender.waitForLine(#/waiting for/#)
    // A file has a group of 60 pictures.
    let segments =
      name == "cam.h264"
      ? [] : ["-f", "segment", "-segment_time", "0.5", "-segment_format", "h264"]
    let writer = try RunningProcess(
      "ffmpeg",
      ["-nostdin", "-v", "error", "-re", "-stream_loop", "-1", "-i", clip.container, "-c", "copy"]
        + ["-flush_packets", "1"] + segments + [folder(name)])
    let port = try sender.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let repeated = clip.hashes + clip.hashes
    for transport in ["tcp", "udp"] {
      let output = folder("\(transport).y4m")
      let receiver = try RunningProcess(
        Product.rtpRecv,
        [
          "rtsp://127.0.0.1:\(port)/cam", "--rtsp-transport", transport, "--frames", "150", "-o",
          output,
        ])
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      let hashes = try FFmpeg.frameHashes(of: output)
      #expect(hashes.count == 150)
      #expect(clip.hashes.indices.contains { repeated[$0...].starts(with: hashes) })
    }
    writer.send(signal: SIGINT)
    sender.send(signal: SIGINT)
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    let files = sender.standardError.matches(of: #/following/#).count
    #expect(name == "cam.h264" ? files == 1 : files > 3)
  }

  /// What is not there yet keeps nobody else waiting.
  @Test func othersAreServedBeforeAFileIsThere() throws {
    let folder = try TemporaryFolder()
    let server = try RTSPSendTests.Server(
      [(folder("none.h264"), "none"), ("pattern", "live")], ["--follow"] + RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv,
      [server.url("live"), "--rtsp-transport", "tcp", "--frames", "10", "-o", folder("live.y4m")])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try server.stop() == 0, "\(server.process.standardError)")
  }

  /// What is followed need not be there yet, and begins at a key picture; the other file is whole.
  @Test func oneFileIsFollowedAndAnotherIsPlayed() throws {
    let clip = try Clip.h264.get()
    let folder = try TemporaryFolder()
    let server = try RTSPSendTests.Server(
      [(folder("cam.h264"), "in/cam"), (clip.path, "film")], ["--follow-only", "in/cam"])
    _ = try server.process.waitForLine(#/waiting for/#)
    try FileManager.default.copyItem(atPath: clip.path, toPath: folder("cam.h264"))
    _ = try server.process.waitForLine(#/following/#)
    for (name, options) in [("in/cam", ["--frames", "1"]), ("film", [])] {
      let output = try Scratch.path("y4m")
      let receiver = try RunningProcess(
        Product.rtpRecv, [server.url(name), "--rtsp-transport", "tcp", "-o", output] + options)
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
      let hashes = try FFmpeg.frameHashes(of: output)
      if name == "film" {
        #expect(hashes == clip.hashes)
      } else {
        // A group has 60 pictures.
        let keys = stride(from: 0, to: clip.frames, by: 60).map { [clip.hashes[$0]] }
        #expect(keys.contains(hashes))
      }
    }
    #expect(try server.stop() == 0, "\(server.process.standardError)")
  }

  @Test(arguments: [true, false]) func aSignalEndsIt(isWaiting: Bool) throws {
    let clip = try Clip.h264.get()
    let folder = try TemporaryFolder()
    let sender = try RunningProcess(
      Product.rtpSend,
      ["--follow", isWaiting ? folder("none.h264") : clip.path, "listen://127.0.0.1:0"])
    if isWaiting {
      _ = try sender.waitForLine(#/waiting for/#)
    } else {
      _ = try sender.waitForLine(#/listening on/#)
    }
    sender.send(signal: SIGINT)
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
  }

  @Test("standard input", arguments: ["h264", "mpegts", "matroska", "mp4"])
  func pipes(format: String) throws {
    let clip = try Clip.h264.get()
    let output = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--codec", "h264", "-o", output])
    let port = try receiver.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let fragments = format == "mp4" ? "-movflags frag_keyframe+empty_moov" : ""
    let sender = try RunningProcess(
      "bash",
      [
        "-c",
        "ffmpeg -nostdin -v error -i '\(clip.container)' -c copy \(fragments) -f \(format) - "
          + "| '\(Product.rtpSend)' - udp://127.0.0.1:\(port)",
      ])
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: output) == clip.hashes, "\(sender.standardError)")
  }

  @Test func standardInputHasSoundToo() throws {
    let (description, video, sound) = (
      try Scratch.path("sdp"), try Scratch.path("y4m"), try Scratch.path("wav")
    )
    let sender = try RunningProcess(
      "bash",
      [
        "-c",
        "ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=320x180:rate=30 -f lavfi -i sine -t 3 "
          + "-c:v libx264 -g 15 -bf 0 -c:a aac -f matroska - "
          + "| '\(Product.rtpSend)' - listen://127.0.0.1:0 --audio copy --once --sdp '\(description)'",
      ])
    let port = try sender.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://127.0.0.1:\(port)", "--sdp", description, "-o", video, "-o", sound])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try sender.waitForExit() == 0, "\(sender.standardError)")
    #expect(try FFmpeg.frameHashes(of: video).count == 90)
    // Three seconds of 44,100 samples with two bytes each.
    let size = try FileManager.default.attributesOfItem(atPath: sound)[.size] as? Int ?? 0
    #expect(abs(size - 264_600) < 20_000)
  }

  @Test func pipesOfSomethingElseAreRefused() throws {
    for text in ["echo this is no video", "true"] {
      let sender = try RunningProcess(
        "bash", ["-c", "\(text) | '\(Product.rtpSend)' - udp://127.0.0.1:9"])
      #expect(try sender.waitForExit() == 1)
      #expect(sender.standardError.contains("cannot open standard input"))
    }
  }

  /// Whoever may write to the folder chooses them.
  @Test func namesOfFilesNeitherControlTheTerminalNorBeginLines() throws {
    let folder = try TemporaryFolder()
    let name = "cam-\u{1B}[2J\u{202E}\nrtp-send: sent all.h264"
    let text = Data(repeating: UInt8(ascii: "x"), count: 4096)
    try #require(FileManager.default.createFile(atPath: folder(name), contents: text))
    let sender = try RunningProcess(
      Product.rtpSend, ["--follow", folder("cam-*.h264"), "udp://127.0.0.1:9"])
    #expect(try sender.waitForExit() == 1)
    let said = sender.standardError
    #expect(said.contains("following cam-") && said.contains("cannot open cam-"), "\(said)")
    #expect(!said.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
    #expect(!said.split(separator: "\n").contains { $0.hasPrefix("rtp-send: sent") })
  }

  /// The file that it names would be sent.
  @Test func aPipeThatIsAPlaylistIsRefused() throws {
    let (secret, list) = (try Scratch.path("ts"), try Scratch.path("m3u8"))
    _ = try FFmpeg.output(["-i", try Clip.h264.get().container, "-c", "copy", secret])
    try "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:1.0,\n\(secret)\n#EXT-X-ENDLIST\n".write(
      toFile: list, atomically: true, encoding: .utf8)
    let sender = try RunningProcess(
      "bash", ["-c", "'\(Product.rtpSend)' - udp://127.0.0.1:9 < '\(list)'"])
    #expect(try sender.waitForExit() == 1)
    #expect(sender.standardError.contains("it is a playlist"), "\(sender.standardError)")
  }
}
