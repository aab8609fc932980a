import Bitstream
import BlockingIO
import Decode
import Defragment
import NIOCore
import Outputs
import RTPWire
import TestSupport
import Testing

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
    let expected = try clip.decodedByFFmpeg(stream, muxer: ["-f", "yuv4mpegpipe", "-strict", "-1"])
    let folder = try TemporaryFolder()
    let lane = try lane(.path(folder("a.y4m")), "y4m")
    for frame in try await clip.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    let written = try folder.contents("a.y4m")
    #expect(
      String(decoding: written.prefix { $0 != 10 }, as: UTF8.self)
        == String(decoding: expected.prefix { $0 != 10 }, as: UTF8.self))
    #expect(written == expected)
    #expect(summary.error == nil)
    #expect(summary.files == [folder("a.y4m")])
    #expect(summary.counters.written == UInt64(clip.frames))
    #expect(summary.counters.bytes == UInt64(expected.count))
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
