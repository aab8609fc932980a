import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Bitstream
@testable import Decode
@testable import Defragment
@testable import Outputs

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

  @Test("missing pictures continue the motion, and FFmpeg reports no error", arguments: clips)
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
      for picture in standIns.additions(to: unit).pictures {
        count += 1
        repaired += Bitstream.AnnexB.stream(of: picture).readableBytesView
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
        return SampleDifferences(shown[start..<start + size], other)?.mean ?? .infinity
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
        #expect(standIns.additions(to: wrong).pictures.count <= 4)
      }
    }
  }

  /// x265 needs a separate thread for slices.
  private static func sliced(
    _ name: String, _ parameters: String, pixelFormat: String = "yuv420p"
  ) -> Clip {
    clip(
      "slices, \(name)", parameters + ":bframes=0:slices=3:pools=1:keyint=12",
      pixelFormat: pixelFormat)
  }

  static let slicedClips = [
    sliced("tree blocks of 16", "ctu=16"),
    sliced("tree blocks of 32, small transforms", "ctu=32:max-tu-size=8"),
    sliced("tree blocks of 64", "ctu=64"),
    sliced("deep transforms", "ctu=64:tu-intra-depth=3"),
    sliced("one size of coding blocks", "ctu=16:min-cu-size=16"),
    sliced("closed groups", "ctu=16:open-gop=0"),
    sliced("10 bit", "ctu=16", pixelFormat: "yuv420p10le"),
    sliced("4:2:2", "ctu=16", pixelFormat: "yuv422p"),
    sliced("4:4:4", "ctu=32", pixelFormat: "yuv444p"),
    sliced("monochrome", "ctu=32", pixelFormat: "gray"),
  ]

  /// libavcodec begins a picture only with its first slice.
  @Test("a picture is shown although its first slice is missing", arguments: slicedClips)
  func firstSlice(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    let golden = try clip.decodedByFFmpeg(stream)
    let size = golden.count / clip.frames
    let units = clip.accessUnits(of: stream)
    for lost in [6, try #require(units.indices.dropFirst().first { units[$0].isRandomAccess })] {
      var damaged = units
      damaged[lost] = try #require(units[lost].withoutFirstSlice())
      var standIns = StandIns()
      var repaired: [UInt8] = []
      for unit in damaged {
        let made = standIns.additions(to: unit).beginning.map { [$0.bytes] } ?? []
        let beginning = Bitstream.AnnexB.stream(of: made)
        let slice = try #require(unit.units.first { $0.type < 32 }?.offset) - 4
        #expect((beginning.readableBytes > 0) == (unit.time == damaged[lost].time))
        repaired += unit.bytes.readableBytesView.prefix(slice)
        repaired += beginning.readableBytesView
        repaired += unit.bytes.readableBytesView.dropFirst(slice)
      }
      let check = ["-xerror", "-err_detect", "explode", "-f", "hevc", "-i", "pipe:0"]
      #expect(throws: Never.self) { try run(check + ["-f", "null", "-"], input: repaired) }

      let collector = Collector()
      let decoder = try collector.decoder(for: clip.codec)
      for unit in damaged { try await decoder.decode(unit) }
      await decoder.flush()
      await decoder.close()
      #expect(collector.frames.count == clip.frames)
      let frame = packed([collector.frames[lost]])
      // The last rows are in the last slice, out of reach of the filters at its edge.
      let lumaBytes = clip.width * clip.height * (clip.pixelFormat.contains("10") ? 2 : 1)
      let rows = clip.width * 16 * (clip.pixelFormat.contains("10") ? 2 : 1)
      let place = lost * size + lumaBytes
      #expect(frame[lumaBytes - rows..<lumaBytes] == golden[place - rows..<place])
      // The first block is like that of the picture before, and not of one grey.
      guard !clip.pixelFormat.contains("10") else { continue }
      let block = (0..<12).flatMap { row in (0..<12).map { row * clip.width + $0 } }
      let error = block.reduce(0) { $0 + abs(Int(frame[$1]) - Int(golden[lost * size + $1])) }
      #expect(error / block.count < 20, "\(error / block.count)")
    }
  }
}

extension AccessUnit {
  /// The unit as where the packets of its first slice are missing; `nil` where it has only one.
  fileprivate func withoutFirstSlice() -> AccessUnit? {
    guard let first = units.firstIndex(where: { $0.type < 32 }), units.count > first + 1 else {
      return nil
    }
    let removed = units[first].length + 4
    var bytes = ByteBuffer()
    bytes.writeBytes(self.bytes.readableBytesView.prefix(units[first].offset - 4))
    bytes.writeBytes(self.bytes.readableBytesView.dropFirst(units[first].offset - 4 + removed))
    let rest = units[(first + 1)...].map {
      NALUnit(offset: $0.offset - removed, length: $0.length, type: $0.type)
    }
    return AccessUnit(
      codec: codec, bytes: bytes, units: units[..<first] + rest, time: time,
      firstArrival: firstArrival, lastArrival: lastArrival, integrity: .damaged,
      gaps: [Gap(unitIndex: first, packets: 1)], isRandomAccess: isRandomAccess,
      dependency: dependency, recoveryPoint: recoveryPoint, format: format)
  }
}
