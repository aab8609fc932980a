import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire
import Testing

@testable import Outputs

/// Sound as samples without holes.
struct DecodedTrackTests {
  private static func changed(
    _ unit: SoundUnit, bytes: [UInt8]? = nil, samples: Int? = nil, after pause: Duration = .zero
  ) -> SoundUnit {
    let ticks = pause.wholeNanoseconds * Int64(unit.time.timescale) / 1_000_000_000
    return SoundUnit(
      format: unit.format, bytes: bytes.map { ByteBuffer(bytes: $0) } ?? unit.bytes,
      time: MediaTime(ticks: unit.time.ticks + ticks, timescale: unit.time.timescale),
      sampleCount: samples ?? unit.sampleCount,
      firstArrival: unit.firstArrival.advanced(by: pause),
      lastArrival: unit.lastArrival.advanced(by: pause))
  }

  @Test("a unit that cannot be decoded lasts no longer than one that can")
  func hugeUnit() throws {
    let units = try RecordedSoundTests.coded[0].made().units
    var track = DecodedTrack()
    for unit in units[..<5] { _ = try track.take(unit) }
    let silence = try track.take(Self.changed(units[5], bytes: [0xFF], samples: 49_000_000))
    #expect(silence.reduce(0) { $0 + $1.count } == 6720)
  }

  @Test("a long silence comes in pieces of the right length")
  func longSilence() throws {
    let units = RecordedSoundTests.clicks(seconds: 1)
    var track = DecodedTrack()
    _ = try track.take(units[0])
    let pieces = try track.take(Self.changed(units[1], after: .seconds(45)))
    #expect(pieces.map(\.count) == Array(repeating: 48_000, count: 7) + [24_000, 160])
  }
}
