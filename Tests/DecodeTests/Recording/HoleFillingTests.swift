import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// Coded silence where coded sound is missing.
struct HoleFillingTests {
  /// A configuration of AAC, and what ten lost units become.
  private static let rows: [(name: String, configuration: String, units: Int?)] = [
    ("48 kHz, stereo", "1190", 10),
    ("HE-AAC, which is said before the core", "2b920800", 10),
    ("HE-AAC, which is said behind the core", "139056e5a0", 10),
    ("HE-AAC with parametric stereo", "138856e5a54880", 10),
    ("units of 960 samples, which no encoder here makes", "1194", nil),
  ]

  @Test("ten units are missing", arguments: rows.indices)
  func holes(row: Int) throws {
    let (name, hex, count) = Self.rows[row]
    let configuration = try AudioSpecificConfig(parsing: ByteBuffer(bytes: bytes(hex)))
    let samples = configuration.samples
    func unit(_ number: Int, lost: Int = 0) -> SoundUnit {
      SoundUnit(
        format: configuration.format, bytes: ByteBuffer(),
        time: MediaTime(
          ticks: Int64(number * samples), timescale: UInt32(configuration.sampleRate)),
        sampleCount: samples, firstArrival: Instant(nanoseconds: 0),
        lastArrival: Instant(nanoseconds: 0), lostBefore: lost)
    }
    var filling = HoleFilling()
    #expect(filling.hole(before: unit(0)) == nil)
    let hole = filling.hole(before: unit(11, lost: 10))
    #expect(hole?.count == count, "\(name)")
    #expect(hole?.samples == count.map { _ in samples }, "\(name)")
    #expect(filling.hole(before: unit(12)) == nil)
    filling.restart()
    #expect(filling.hole(before: unit(22, lost: 9)) == nil)
  }

  @Test("lost Opus is said to be lost, which players make up for")
  func lostOpus() throws {
    let units = try RecordedSoundTests.coded[1].made().units
    var filling = HoleFilling()
    for unit in units[..<20] { #expect(filling.hole(before: unit) == nil) }
    let found = filling.hole(before: units[30])
    let hole = try #require(found)
    #expect(hole.count == 10)
    #expect(hole.samples == 960)
    // The first byte alone, as of a packet of one frame.
    let first = try #require(units[19].bytes.readableBytesView.first)
    #expect(Array(hole.bytes.readableBytesView) == [first & 0xFC])
  }

  @Test("a hole in HE-AAC lasts as long in an ADTS file as what is missing")
  func highEfficiency() throws {
    // There is no encoder of it here, so that these units of the core say that there is more.
    let clip = SoundClip(encoder: "aac", decoder: "aac", rate: 24_000, channels: 2, padding: 1024)
    let configuration = try AudioSpecificConfig(
      parsing: ByteBuffer(bytes: bytes("2b118800")))
    #expect(configuration.sampleRate == 48_000 && configuration.coreSampleRate == 24_000)
    var units = try clip.made().units.enumerated().map { number, unit in
      SoundUnit(
        format: configuration.format, bytes: unit.bytes,
        time: MediaTime(ticks: Int64(number) * 2048, timescale: 48_000), sampleCount: 2048,
        firstArrival: unit.firstArrival, lastArrival: unit.lastArrival,
        lostBefore: number == 35 ? 15 : 0)
    }
    let whole = units.count
    units.removeSubrange(20..<35)
    let disk = try VirtualDisk.record(
      items: units.map { .sound($0) }, as: .audioDataTransportStream)
    let folder = try TemporaryFolder()
    let path = try RecordedSoundTests.write(
      try #require(disk.files.first), to: folder, as: "a.aac")
    let samples = try FFmpeg.output(
      ["-xerror", "-i", path, "-ar", "48000", "-ac", "2", "-f", "s16le", "-"])
    #expect(abs(samples.count / 4 - whole * 2048) <= 2 * 2048)
  }
}
