import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// What senders of `MP4A-LATM` do (RFC 6416).
@Suite("LATM in RTP")
struct LATMTests {
  /// AAC LC, 24 kHz, stereo, from RFC 6416 §7.4.
  static let described = ["cpresent": "0", "config": "400026203fc0", "object": "2"]

  /// An element of one unit whose configuration is known.
  static func element(_ unit: [UInt8]) -> [UInt8] {
    Array(repeating: 255, count: unit.count / 255) + [UInt8(unit.count % 255)] + unit
  }

  /// An element with `units` that begins with `configuration`, or says that the last one holds.
  static func inBand(_ configuration: Bitstream.BitWriter?, _ units: [[UInt8]], other: Int = 0)
    -> [UInt8]
  {
    var writer = Bitstream.BitWriter()
    writer.append(configuration == nil)
    if let configuration { writer.append(configuration) }
    for unit in units {
      for byte in element(unit) { writer.append(UInt32(byte), bits: 8) }
    }
    for _ in 0..<other { writer.append(true) }
    return writer.plain
  }

  /// A configuration of version 0 or 1 for AAC LC of 48 kHz, or of `config`.
  static func configuration(
    isVersionOne: Bool, subframes: Int = 1, other: Int? = nil, config: String = "1190"
  ) -> Bitstream.BitWriter {
    var writer = Bitstream.BitWriter()
    func value(_ value: Int) {
      writer.append(1, bits: 2)
      writer.append(UInt32(value), bits: 16)
    }
    writer.append(isVersionOne)
    if isVersionOne {
      writer.append(false)
      value(0x1234)
    }
    writer.append(true)
    writer.append(UInt32(subframes - 1), bits: 6)
    writer.append(0, bits: 7)
    if isVersionOne { value(8 * bytes(config).count) }
    for byte in bytes(config) { writer.append(UInt32(byte), bits: 8) }
    writer.append(0, bits: 3)
    writer.append(0xFF, bits: 8)
    writer.append(other != nil)
    if let other {
      if isVersionOne {
        value(other)
      } else {
        // In two bytes, though one would do.
        writer.append(0x100, bits: 9)
        writer.append(UInt32(other), bits: 9)
      }
    }
    writer.append(true)
    writer.append(0x5A, bits: 8)
    return writer
  }

  @Test("Describes the configuration; units of any length follow")
  func outOfBand() throws {
    var bench = try SoundBench("MP4A-LATM", clock: 24_000, channels: 2, Self.described)
    #expect(bench.defragmenter.format?.sampleRate == 24_000)
    let lengths = [1, 254, 255, 256, 511, 1000]
    for (number, length) in lengths.enumerated() {
      bench.push(
        Self.element([UInt8](repeating: 1, count: length)), at: Int64(number) * 1024)
    }
    #expect(bench.units.map(\.bytes.readableBytes) == lengths)
    #expect(bench.statistics.silentSamples == 0 && bench.statistics.unpacked == 6)
  }

  @Test("Fragments an element; the marker ends it")
  func fragments() throws {
    var bench = try SoundBench("MP4A-LATM", clock: 24_000, channels: 2, Self.described)
    let element = Self.element((0..<200).map { UInt8($0) })
    bench.push(Array(element[..<90]), at: 0, marker: false)
    bench.push(Array(element[90...]), at: 0)
    bench.push(Array(element[..<90]), at: 1024, marker: false)
    bench.push(Self.element([1, 2]), at: 2048, lost: 1)
    #expect(bench.units.map(\.bytes.readableBytes) == [200, 2])
    #expect(bench.units.last?.lostBefore == 1 && bench.statistics.cutUnits == 1)
  }

  @Test("Never sets the marker")
  func withoutMarkers() throws {
    var bench = try SoundBench("MP4A-LATM", clock: 24_000, channels: 2, Self.described)
    for number in 0..<4 {
      bench.push(Self.element([UInt8(number)]), at: Int64(number) * 1024, marker: false)
    }
    #expect(bench.hex == ["00", "01", "02", "03"])
    #expect(bench.ticks == [0, 1024, 2048, 3072])
  }

  struct Multiplex: Sendable {
    var isVersionOne = false
    var subframes = 1
    var other: Int?
  }

  static let multiplexes = [
    Multiplex(), Multiplex(isVersionOne: true), Multiplex(subframes: 3), Multiplex(other: 0),
    Multiplex(isVersionOne: true, subframes: 3, other: 13), Multiplex(other: 13),
    Multiplex(isVersionOne: true, other: 0),
  ]

  @Test(
    "Puts the configuration into the packets", arguments: multiplexes)
  func inBandConfiguration(_ multiplex: Multiplex) throws {
    let (subframes, other) = (multiplex.subframes, multiplex.other)
    var bench = try SoundBench("MP4A-LATM", clock: 48_000)
    let configuration = Self.configuration(
      isVersionOne: multiplex.isVersionOne, subframes: subframes, other: other)
    let units = (0..<subframes).map { [UInt8($0), 9] }
    // Nothing can be read before the first configuration.
    bench.push(Self.inBand(nil, units, other: other ?? 0), at: 0)
    #expect(bench.units.isEmpty && bench.statistics.malformedPayloads == 1)
    bench.push(Self.inBand(configuration, units, other: other ?? 0), at: 10_000)
    bench.push(Self.inBand(nil, units, other: other ?? 0), at: 10_000 + Int64(subframes) * 1024)
    let ticks = (0..<Int64(2 * subframes)).map { 10_000 + 1024 * $0 }
    #expect(bench.ticks == ticks)
    #expect(bench.defragmenter.format?.configuration == bytes("1190"))
    #expect(bench.defragmenter.format?.channels == 2)
  }

  @Test("Replicates bands, said behind the core, which only version 1 has room for")
  func extendedConfiguration() throws {
    var bench = try SoundBench("MP4A-LATM", clock: 44_100)
    let configuration = Self.configuration(isVersionOne: true, config: "139056e5a0")
    bench.push(Self.inBand(configuration, [[1]]), at: 0)
    #expect(bench.defragmenter.format?.sampleRate == 44_100)
    #expect(bench.units.first?.sampleCount == 2048)
  }

  @Test("Changes the configuration in the middle")
  func change() throws {
    var bench = try SoundBench("MP4A-LATM", clock: 48_000, ["cpresent": "1"])
    bench.push(Self.inBand(Self.configuration(isVersionOne: false), [[1]]), at: 0)
    let mono = Self.configuration(isVersionOne: false, config: "1188")
    bench.push(Self.inBand(mono, [[2]]), at: 1024)
    #expect(bench.units.map(\.format.channels) == [2, 1])
  }

  @Test("Describes the configuration and does not say that it is nowhere else")
  func unsaid() throws {
    var bench = try SoundBench("MP4A-LATM", clock: 24_000, ["config": "400026203fc0"])
    bench.push(Self.element([5, 6, 7]), at: 0)
    #expect(bench.hex == ["050607"])
    var other = try SoundBench("MP4A-LATM", clock: 48_000, ["config": "400026203fc0"])
    other.push(Self.inBand(Self.configuration(isVersionOne: false), [[1]]), at: 0)
    #expect(other.hex == ["01"] && other.defragmenter.format?.sampleRate == 48_000)
  }

  @Test("Says that the configuration is described, and leaves it empty")
  func emptyConfiguration() throws {
    var bench = try SoundBench(
      "MP4A-LATM", clock: 16_000, channels: 1, ["cpresent": "0", "config": ""])
    #expect(bench.defragmenter.format?.configuration == bytes("1408"))
    bench.push(Self.element([5, 6, 7]), at: 0)
    bench.push(Self.element([8]), at: 1024)
    #expect(bench.hex == ["050607", "08"])
  }

  @Test("Carries something other than AAC")
  func otherCodings() {
    // The CELP example of RFC 3016, with `frameLengthType` 4.
    let parameters = ["cpresent": "0", "config": "40008b18388380"]
    let media = MediaDescription(
      kind: .audio, payloadType: 96, encodingName: "MP4A-LATM", clockRate: 8000,
      formatParameters: parameters)
    #expect(SoundDefragmenter(media: media) == nil)
  }
}
