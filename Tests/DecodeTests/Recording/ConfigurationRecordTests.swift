import Bitstream
import Foundation
import NIOCore
import TestSupport
import Testing

/// The parameter sets as headers of MP4 and Matroska have them; libavformat's are the oracle.
@Suite("Configuration records")
struct ConfigurationRecordTests {
  static let clips = [
    Clip(name: "baseline", frames: 2, encoder: ["-profile:v", "baseline"]),
    Clip(name: "main", frames: 2, encoder: ["-profile:v", "main"]),
    Clip(name: "high", frames: 2),
    Clip(name: "high 4:2:2 10 bit", frames: 2, pixelFormat: "yuv422p10le"),
    Clip(name: "high 4:4:4", frames: 2, pixelFormat: "yuv444p"),
    Clip(name: "H.265", codec: .testH265, frames: 2),
    Clip(name: "H.265 10 bit", codec: .testH265, frames: 2, pixelFormat: "yuv420p10le"),
    Clip(
      name: "H.265 with temporal layers", codec: .testH265, frames: 2,
      codecParameters: "temporal-layers=2"),
  ]

  @Test("they are those of libavformat", arguments: clips)
  func record(clip: Clip) throws {
    let units = AnnexB.nalUnits(of: try clip.encoded()).map { ByteBuffer(bytes: $0) }
    let sets = clip.codec.parameterSetTypes.flatMap { type in
      var known: Set<ByteBuffer> = []
      return units.filter { unit in
        clip.codec.type(of: unit) == type && known.insert(unit).inserted
      }
    }
    let record = try #require(clip.codec.configurationRecord(of: sets))

    let isH264 = clip.codec == .testH264
    let movie = try FFmpeg.output(
      ["-f", isH264 ? "h264" : "hevc", "-i", "pipe:0", "-c", "copy"]
        + (isH264 ? [] : ["-tag:v", "hvc1"])
        + ["-f", "mp4", "-movflags", "frag_keyframe+empty_moov", "-"],
      input: try clip.encoded())
    let name = try #require(movie.range(of: Data((isH264 ? "avcC" : "hvcC").utf8)))
    let length = movie[(name.lowerBound - 4)..<name.lowerBound].reduce(0) { $0 << 8 | Int($1) }
    let expected = movie[name.upperBound..<(name.lowerBound - 4 + length)]
    #expect(Array(record.readableBytesView) == Array(expected))
  }

  @Test("sets that do not fit in, or that nobody can read, have none")
  func none() throws {
    let set = ByteBuffer(bytes: Material.h264.parameterSets[0])
    let picture = ByteBuffer(bytes: Material.h264.parameterSets[1])
    #expect(H264.codec.configurationRecord(of: [set, picture]) != nil)
    #expect(H264.codec.configurationRecord(of: [picture]) == nil)
    #expect(H264.codec.configurationRecord(of: Array(repeating: set, count: 32)) == nil)
    #expect(
      H264.codec.configurationRecord(of: [set] + Array(repeating: picture, count: 256)) == nil)
    let huge = ByteBuffer(
      bytes: Material.h264.parameterSets[1] + [UInt8](repeating: 1, count: 65_536))
    #expect(H264.codec.configurationRecord(of: [set, huge]) == nil)
    #expect(H265.codec.configurationRecord(of: []) == nil)
  }
}

extension VideoCodec {
  fileprivate func type(of unit: ByteBuffer) -> UInt8 {
    let first = unit.readableBytesView.first ?? 0
    return self == .testH264 ? first & 0x1F : first >> 1 & 0x3F
  }
}
