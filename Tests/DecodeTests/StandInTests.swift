import Foundation
import NIOCore
import RTPWire
import Testing

@testable import Decode
@testable import Defragment

/// Pictures of our own making in place of H.265 pictures that never came.
@Suite struct StandInTests {
  /// A texture that moves by four samples to the left and two up in every picture.
  private static let pan =
    "nullsrc=size=320x224:rate=30,geq=lum='128+60*sin(X/7)*cos(Y/9)+40*sin((X+Y)/23)':cb=128:cr=128,"
    + "crop=240:176:4*n:2*n"

  private static func clip(
    _ name: String, _ parameters: String = "bframes=0", pixelFormat: String = "yuv420p"
  ) -> Clip {
    Clip(
      name: name, codec: .testH265, source: pan, width: 240, height: 176, frames: 18,
      pixelFormat: pixelFormat, encoder: ["-g", "60"], codecParameters: parameters)
  }

  static let clips = [
    clip("as x265 does it"),
    clip("tree blocks of 16", "bframes=0:ctu=16"),
    clip("tree blocks of 32, coding blocks of 16 and more", "bframes=0:ctu=32:min-cu-size=16"),
    clip("five references, no weights, no sample offsets", "bframes=0:ref=5:weightp=0:sao=0:wpp=0"),
    clip("B pictures", "bframes=4:b-adapt=0:b-pyramid=1"),
    clip("temporal levels", "bframes=3:b-adapt=0:temporal-layers=1"),
    clip("10 bit", pixelFormat: "yuv420p10le"),
    clip("4:2:2", pixelFormat: "yuv422p"),
  ]

  @Test("what never came goes on as it moved, and FFmpeg finds nothing wrong", arguments: clips)
  func motionGoesOn(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    let golden = try clip.decodedByFFmpeg(stream)
    var units = clip.accessUnits(of: stream)
    let lost = try #require(
      units.indices.dropFirst(11).first { units[$0].units.contains { $0.type == 1 } })
    units.remove(at: lost)

    var standIns = StandIns()
    var repaired: [UInt8] = []
    var count = 0
    for unit in units {
      for picture in standIns.pictures(before: unit) {
        count += 1
        repaired += Defragment.AnnexB.stream(of: picture).readableBytesView
      }
      repaired += unit.bytes.readableBytesView
    }
    #expect(count == 1)
    let check = ["-xerror", "-err_detect", "explode", "-f", "hevc", "-i", "pipe:0"]
    #expect(throws: Never.self) { try run(check + ["-f", "null", "-"], input: repaired) }

    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count == clip.frames - 1)
    let size = golden.count / clip.frames
    let shown = try clip.decodedByFFmpeg(repaired)
    #expect(packed(collector.frames) == shown)
    let errors = stride(from: 0, to: shown.count, by: size).map { start in
      // The one that is missing is not shown, so that some are beside their neighbour.
      [0, size].map { shift in
        let other = golden.dropFirst(start + shift).prefix(size)
        let sum = zip(shown[start..<start + size], other).reduce(0) {
          $0 + abs(Int($1.0) - Int($1.1))
        }
        return other.count == size ? Double(sum) / Double(size) : .infinity
      }.min() ?? .infinity
    }
    // 10 to 40 where libavcodec makes up the picture.
    #expect(errors.allSatisfy { $0 < 4 })
  }

  @Test("wrong bits lead to few pictures or none", arguments: clips.prefix(4))
  func wrongBits(_ clip: Clip) throws {
    var random = SeededGenerator(seed: 4)
    let units = clip.accessUnits(of: try clip.encoded()).prefix(8)
    for _ in 0..<200 {
      var standIns = StandIns()
      for unit in units {
        var bytes = unit.bytes
        for _ in 0..<4 {
          let place = Int.random(in: 0..<min(bytes.readableBytes, 120), using: &random)
          bytes.setInteger(UInt8.random(in: 0...255, using: &random), at: bytes.readerIndex + place)
        }
        let wrong = AccessUnit(
          codec: unit.codec, bytes: bytes, units: unit.units, time: unit.time,
          firstArrival: unit.firstArrival, lastArrival: unit.lastArrival)
        #expect(standIns.pictures(before: wrong).count <= 4)
      }
    }
  }
}
