import Bitstream
import BlockingIO
import Decode
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct OutputFormatTests {
  @Test(
    "a path's ending names the format",
    arguments: [
      ("a.yuv", "yuv"), ("/x.y/a.Y4M", "y4m"), ("a.264", "h264"), ("a.hevc", "h265"),
      ("a.b.h265", "h265"), ("-", nil), ("a", nil), ("dir.y4m/a", nil), (".y4m", nil),
      ("a.mov", nil),
    ] as [(String, String?)])
  func formatForPath(_ path: String, _ name: String?) {
    #expect(catalogue.format(forPath: path)?.name == name)
  }

  static let clips: [Clip] = [
    Clip(name: "4:2:0", encoder: ["-tune", "zerolatency"]),
    Clip(name: "full range", pixelFormat: "yuvj420p"),
    Clip(name: "4:2:2", pixelFormat: "yuv422p"),
    Clip(name: "4:4:4 10 bit", pixelFormat: "yuv444p10le"),
    Clip(name: "4:2:2 10 bit", pixelFormat: "yuv422p10le"),
    Clip(name: "aspect and limited range", encoder: ["-vf", "setsar=40/33", "-color_range", "tv"]),
    Clip(name: "interlaced", encoder: ["-flags", "+ildct+ilme", "-x264-params", "tff=1"]),
    Clip(name: "bottom field first", encoder: ["-flags", "+ildct+ilme", "-x264-params", "bff=1"]),
    Clip(name: "odd size", width: 174, height: 98),
    Clip(name: "H.265", codec: .testH265),
    Clip(name: "H.265 monochrome", codec: .testH265, pixelFormat: "gray"),
    Clip(name: "H.265 12 bit", codec: .testH265, pixelFormat: "yuv420p12le"),
  ]

  @Test("a .y4m file is the one that ffmpeg writes, header included", arguments: clips)
  func y4m(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    var expected = try clip.decodedByFFmpeg(stream, muxer: ["-f", "yuv4mpegpipe", "-strict", "-1"])
    var header = String(decoding: expected.prefix { $0 != 10 }, as: UTF8.self)
    if clip.name == "full range" {
      // FFmpeg takes the range for the place of the chroma, which the stream says is on the left.
      expected.removeFirst(header.utf8.count)
      header.replace("C420jpeg XYSCSS=420JPEG", with: "C420mpeg2 XYSCSS=420MPEG2")
      #expect(header.contains(" C420mpeg2 ") && header.hasSuffix(" XCOLORRANGE=FULL"))
      expected = Array(header.utf8) + expected
    }
    let folder = try TemporaryFolder()
    let lane = try lane(.path(folder("a.y4m")), "y4m")
    for frame in try await clip.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    let written = try folder.contents("a.y4m")
    #expect(String(decoding: written.prefix { $0 != 10 }, as: UTF8.self) == header)
    #expect(written == expected)
    #expect(summary.error == nil)
    #expect(summary.files == [folder("a.y4m")])
    #expect(summary.counters.written == UInt64(clip.frames))
    #expect(summary.counters.bytes == UInt64(expected.count))
  }

  /// Cameras declare the clock of RTP as the rate of their pictures.
  @Test(
    "a declared rate is taken if it can be meant, or else that of the times",
    arguments: [
      (VideoCodec.testH264, 50, "F50:1"), (.testH264, 90_000, "F10:1"), (.testH265, 50, "F50:1"),
      (.testH265, 90_000, "F10:1"),
    ])
  func declaredRate(_ codec: VideoCodec, rate: Int, expected: String) async throws {
    let isH264 = codec == .testH264
    let clip = Clip(name: "declared", codec: codec, frames: 5)
    let name = isH264 ? "h264" : "hevc"
    // A tick is a field's in H.264.
    let setting = "\(name)_metadata=tick_rate=\(rate * (isH264 ? 2 : 1))"
    let stream = try run(
      ["-f", name, "-i", "pipe:0", "-c", "copy", "-bsf:v", setting, "-f", name, "-"],
      input: clip.encoded())
    let declared = rate == 50 ? Rational(50, 1) : nil
    let sets = AnnexB.nalUnits(of: stream).map { ByteBuffer(bytes: $0) }
    let set = try #require(sets.first { $0.readableBytesView.first == (isH264 ? 0x67 : 0x42) })
    let format =
      isH264
      ? try H264.SequenceParameterSet(parsing: set).format
      : try H265.SequenceParameterSet(parsing: set).format
    #expect(format.frameRate == declared)
    let frames = try await clip.decodedFrames(of: stream)
    #expect(frames.map(\.frameRate) == Array(repeating: declared, count: 5))
    let folder = try TemporaryFolder()
    let lane = try lane(.path(folder("a.y4m")), "y4m")
    for frame in frames { lane.write(frame) }
    #expect(await lane.finish().notes == [])
    let header = String(decoding: try folder.contents("a.y4m").prefix { $0 != 10 }, as: UTF8.self)
    #expect(header.contains(" \(expected) "), "\(header)")
  }

  /// When sixty frames are shown, in ticks of 90 kHz, and the rate that is noted.
  struct Pace: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let shown: Double?
    let ticks: @Sendable (Int64) -> Int64
  }

  static let paces = [
    Pace(testDescription: "30", shown: nil) { $0 * 3000 },
    Pace(testDescription: "29.97", shown: nil) { $0 * 3003 },
    Pace(testDescription: "20", shown: 20) { $0 * 4500 },
    Pace(testDescription: "30, then 10", shown: 15) { min($0, 30) * 3000 + max(0, $0 - 30) * 9000 },
    Pace(testDescription: "30, with a pause of an hour", shown: nil) { number in
      number * 3000 + (number < 30 ? 0 : 324_000_000)
    },
    Pace(testDescription: "30, with each two exchanged", shown: nil) { ($0 ^ 1) * 3000 },
  ]

  /// Readers of a pipe know no other times than those of its header, which here says 30.
  @Test("a .y4m notes that its frames came at another rate than its header says", arguments: paces)
  func otherRate(_ pace: Pace) async throws {
    let clip = Clip(name: "first", frames: 1)
    let first = try #require(try await clip.decodedFrames().first)
    var output = Y4MOutput()
    for number in Int64(0)..<60 {
      let time = MediaTime(ticks: pace.ticks(number), timescale: 90_000)
      let frame = try #require(RawFrame(repeating: first, at: time))
      _ = try output.record(for: .frame(frame))
    }
    _ = output.finish()
    guard let shown = pace.shown else {
      #expect(output.notes == [])
      return
    }
    #expect(output.notes.count == 1)
    guard case .otherFrameRate(let said, let found)? = output.notes.first else {
      Issue.record("\(output.notes)")
      return
    }
    #expect(said == 30)
    #expect(abs(found - shown) < 0.2, "\(found)")
  }

  @Test("a .yuv file holds the planes and nothing else", arguments: clips)
  func yuv(_ clip: Clip) async throws {
    let folder = try TemporaryFolder()
    let frames = try await clip.decodedFrames()
    let lane = try lane(.path(folder("a.yuv")), "yuv")
    for frame in frames { lane.write(frame) }
    #expect(await lane.finish().error == nil)
    #expect(try folder.contents("a.yuv") == packed(frames))
  }

  @Test("an elementary stream begins at the first random-access point and is kept byte for byte")
  func elementaryStream() async throws {
    let clip = Clip(name: "short GOPs", frames: 30, encoder: ["-g", "10", "-tune", "zerolatency"])
    let units = clip.accessUnits(of: try clip.encoded())
    let folder = try TemporaryFolder()
    let lane = try lane(.path(folder("a.h264")), "h264")
    for unit in units[3...] { #expect(lane.write(unit) == .queued) }
    let summary = await lane.finish()
    #expect(
      try folder.contents("a.h264") == units[10...].flatMap { Array($0.bytes.readableBytesView) })
    #expect(summary.counters.skipped == 7)
    #expect(summary.counters.written == 20)
  }
}
