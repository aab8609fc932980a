import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Serving

struct LiveCameraTests {
  /// A picture at so many milliseconds.
  private static func picture(_ time: Int64, isKey: Bool = false) -> AccessUnit {
    var bytes = ByteBuffer()
    var units: [NALUnit] = []
    let slice: [UInt8] = [isKey ? 0x65 : 0x41, 0x88, 0x84, 0x21]
    for part in (isKey ? Material.h264.parameterSets : []) + [slice] {
      bytes.writeBytes(AnnexB.startCode)
      units.append(NALUnit(offset: bytes.writerIndex, length: part.count, type: part[0] & 31))
      bytes.writeBytes(part)
    }
    let arrival = Instant(nanoseconds: time * 1_000_000)
    return AccessUnit(
      codec: H264.codec, bytes: bytes, units: units,
      time: MediaTime(ticks: time * 90, timescale: 90_000), firstArrival: arrival,
      lastArrival: arrival, isRandomAccess: isKey)
  }

  private static func camera() -> LiveCamera {
    LiveCamera(name: "front", number: 0, source: "rtp://front", box: nil) { _, _ in }
  }

  @Test("who comes and goes all the time begins one decoder")
  func flapping() throws {
    let camera = Self.camera()
    let viewer = Viewer {}
    camera.take(Self.picture(0, isKey: true))
    camera.add(viewer, as: .jpeg)
    let feed = try #require(camera.feed)
    for number in 1...1000 {
      camera.remove(viewer)
      camera.take(Self.picture(Int64(number) * 40))
      camera.add(viewer, as: .jpeg)
      #expect(camera.feed === feed)
    }
    camera.remove(viewer)
    camera.end()
  }

  @Test("whoever wants JPEG of a group that is not kept to its end gets it from the next one on")
  func cutGroup() {
    let camera = Self.camera()
    let viewer = Viewer {}
    let key = Self.picture(0, isKey: true)
    camera.setShare(key.bytes.readableBytes)
    camera.take(key)
    camera.take(Self.picture(40))
    #expect(camera.group.units.count == 1)
    camera.add(viewer, as: .jpeg)
    camera.take(Self.picture(80))
    #expect(camera.feed == nil)
    camera.take(Self.picture(120, isKey: true))
    #expect(camera.feed != nil)
    camera.remove(viewer)
    camera.end()
  }

  @Test("decoding goes on for five seconds of pictures for nobody")
  func linger() {
    let camera = Self.camera()
    let viewer = Viewer {}
    camera.take(Self.picture(0, isKey: true))
    camera.add(viewer, as: .jpeg)
    camera.remove(viewer)
    for time in stride(from: Int64(40), through: 5000, by: 40) {
      camera.take(Self.picture(time))
      #expect(camera.feed != nil, "after \(time - 40) ms")
    }
    camera.take(Self.picture(5040))
    #expect(camera.feed == nil)
    // Whoever wants pictures begins again; with the run, decoding for nobody ends at once.
    camera.add(viewer, as: .jpeg)
    #expect(camera.feed != nil)
    camera.remove(viewer)
    camera.end()
    #expect(camera.feed == nil)
  }
}
