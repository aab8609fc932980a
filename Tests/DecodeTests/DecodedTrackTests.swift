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

  /// The samples of a tone of Opus in which `lost` units are missing behind the fortieth: the sum
  /// of the squares of each 20 ms, divided by that of the tone.
  private static func powers(missing lost: Int) throws -> [Float] {
    var units = try RecordedSoundTests.coded[1].made().units
    units.removeSubrange(40..<40 + lost)
    let next = units[40]
    units[40] = SoundUnit(
      format: next.format, bytes: next.bytes, time: next.time, sampleCount: next.sampleCount,
      firstArrival: next.firstArrival, lastArrival: next.lastArrival, lostBefore: lost)
    var track = DecodedTrack()
    let pieces = try units.flatMap { try track.take($0) }
    let values = pieces.flatMap(\.values)
    #expect(pieces.allSatisfy { $0.sampleRate == 48_000 && $0.channels == 2 })
    let powers = stride(from: 0, to: values.count - 1919, by: 1920).map { start in
      values[start..<start + 1920].reduce(0) { $0 + $1 * $1 }
    }
    return powers.map { $0 / powers[30] }
  }

  @Test("lost Opus is made up, softer and softer, and after a quarter of a second silent")
  func concealment() throws {
    let whole = try Self.powers(missing: 0)
    for lost in [1, 5, 40] {
      let powers = try Self.powers(missing: lost)
      #expect(powers.count == whole.count)
      #expect(powers[40] > 0.5, "\(lost): \(powers[40])")
      if lost > 1 { #expect(powers[43] < powers[40] && powers[43] > 0.05, "\(powers)") }
      if lost > 13 { #expect(powers[53..<40 + lost].allSatisfy { $0 == 0 }, "\(powers)") }
      // And what came is heard again soon, if the decoder had to begin anew.
      #expect(powers[42 + lost] > (lost > 13 ? 0.7 : 0.9), "\(powers)")
    }
  }

  @Test("sound that begins anew makes up for nothing")
  func discontinuity() throws {
    var units = try RecordedSoundTests.coded[1].made().units
    units.removeSubrange(40..<50)
    units[40].isDiscontinuity = true
    var track = DecodedTrack()
    for unit in units[..<40] { _ = try track.take(unit) }
    let pieces = try track.take(units[40])
    #expect(pieces.map(\.count) == [9600, 960])
    #expect(pieces[0].values.allSatisfy { $0 == 0 })
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
