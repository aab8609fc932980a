import Bitstream
import Decode
import Defragment
import NIOCore
import Outputs
import RTPSend
import RTPWire
import Receiver
import Synchronization
import Testing

/// The wall-clock time at which each picture was taken, from sender report to frame.
struct CaptureTimeTests {
  /// 2026-11-21T09:05:42.25Z, the time of the third picture.
  private static let ntpTime: UInt64 = (2_208_988_800 + 1_795_251_942) << 32 | 0x4000_0000

  private static func report(timestamp: UInt32) -> Datagram {
    var bytes = ByteBuffer(bytes: [0x80, 200, 0, 6])
    bytes.writeMultipleIntegers(UInt32(0xA), ntpTime, timestamp, UInt32(0), UInt32(0))
    return Datagram(bytes: bytes, arrival: Instant(nanoseconds: 0), channel: .control)
  }

  /// The wrap of the timestamp lies between the second picture and the third.
  private static let session = RTPStream.Configuration(
    ssrc: 0xA, initialSequence: 1, initialTimestamp: UInt32.max - 4000)

  /// What a picture's time is, 33,333,333.3 ns further with each.
  private static func expected(_ index: Int) -> WallClockTime {
    let distance = (Double(index - 2) * 1e9 / 30).rounded()
    return WallClockTime(nanoseconds: 1_795_251_942_250_000_000 + Int64(distance))
  }

  @Test("each access unit, once a report has come", arguments: [0, 1, 6])
  func accessUnits(picturesBefore: Int) throws {
    let stream = try PatternStream(.h264, frames: 10, as: Self.session)
    var datagrams = stream.datagrams
    let timestamp = Self.session.initialTimestamp &+ UInt32(picturesBefore * 3000)
    let place = try #require(
      datagrams.firstIndex { datagram in
        datagram.bytes.getInteger(at: datagram.bytes.readerIndex + 4) == timestamp
      })
    datagrams.insert(
      Self.report(timestamp: Self.session.initialTimestamp &+ 6000), at: place)
    let units = try Playback(datagrams, media: stream.media).accessUnits
    #expect(units.count == 10)
    for (index, unit) in units.enumerated() {
      // A report before the first packet holds for all, and the first picture waits for what
      // follows its marker.
      let isBefore = index < picturesBefore && picturesBefore > 1
      #expect(unit.captureTime == (isBefore ? nil : Self.expected(index)))
    }
  }

  @Test func eachFrame() async throws {
    let stream = try PatternStream(.h264, frames: 10, as: Self.session)
    let report = Self.report(timestamp: Self.session.initialTimestamp &+ 6000)
    let source = ScriptedSource([
      .init(media: [stream.media], datagrams: [report] + stream.datagrams)
    ])
    let frames = Mutex<[FrameSummary]>([])
    var configuration = Receiver.Configuration()
    configuration.onFrame = { frame in frames.withLock { $0.append(FrameSummary(of: frame)) } }
    let receiver = try Receiver(configuration: configuration) { _ in source.make() }
    _ = await receiver.run()
    let shown = frames.withLock { $0 }
    #expect(shown.map(\.captureTime) == (0..<10).map(Self.expected))
    #expect(
      shown.map(\.time.ticks)
        == (0..<10).map { Int64(Self.session.initialTimestamp) + $0 * 3000 })
    #expect(shown.map(\.byteCount) == stream.units.map(\.readableBytes))
    #expect(shown[2].captureTime?.description == "2026-11-21T09:05:42.250000Z")
  }
}
