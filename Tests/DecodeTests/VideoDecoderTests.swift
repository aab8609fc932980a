import Decode
import Defragment
import Foundation
import NIOCore
import RTPWire
import Testing

@Suite struct VideoDecoderTests {
  static let clips: [Clip] = [
    Clip(name: "baseline", encoder: ["-profile:v", "baseline"]),
    Clip(name: "B pyramid", encoder: ["-bf", "3", "-g", "12"]),
    Clip(name: "open GOP", frames: 40, encoder: ["-bf", "3", "-g", "10", "-x264-params", "open-gop=1"]),
    Clip(name: "zero latency, slices", encoder: ["-tune", "zerolatency", "-slices", "4"]),
    Clip(name: "H.264 10 bit", pixelFormat: "yuv420p10le"),
    Clip(name: "H.264 4:2:2", pixelFormat: "yuv422p"),
    Clip(name: "H.264 4:2:2 10 bit", pixelFormat: "yuv422p10le"),
    Clip(name: "H.264 4:4:4", pixelFormat: "yuv444p"),
    Clip(name: "H.264 monochrome", pixelFormat: "gray"),
    Clip(name: "H.264 full range", pixelFormat: "yuvj420p"),
    Clip(name: "MBAFF", encoder: ["-flags", "+ildct+ilme", "-x264-params", "tff=1"]),
    Clip(name: "H.264 odd size", width: 174, height: 98),
    Clip(name: "periodic intra refresh", frames: 40, encoder: ["-x264-params", "intra-refresh=1:keyint=20"]),
    Clip(name: "H.265", codec: .testH265),
    Clip(name: "H.265 open GOP", codec: .testH265, frames: 40, encoder: ["-g", "10"]),
    Clip(name: "H.265 10 bit", codec: .testH265, pixelFormat: "yuv420p10le"),
    Clip(name: "H.265 4:4:4", codec: .testH265, pixelFormat: "yuv444p"),
    Clip(name: "H.265 monochrome", codec: .testH265, pixelFormat: "gray"),
    Clip(name: "H.265 odd size", codec: .testH265, width: 176, height: 98),
  ]

  @Test("every frame of the stream comes out once, in order, as ffmpeg decodes it", arguments: clips)
  func equalsFFmpeg(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    let expected = try clip.decodedByFFmpeg(stream)
    let units = clip.accessUnits(of: stream)
    #expect(units.count == clip.frames)

    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.frames.count == clip.frames)
    #expect(collector.failures == [])
    #expect(packed(collector.frames) == expected)
    await decoder.close()
  }
}
