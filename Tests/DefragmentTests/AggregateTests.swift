import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Aggregation packets whose entries do not fit, are empty, or have something after them (RFC 6184
/// §5.7, RFC 7798 §4.4.2).
@Suite("Aggregation packets")
struct AggregateTests {
  static let cameras: [Camera] = [
    Camera(
      "zeros behind a STAP-A",
      [.init("780003658811000000000000", 0, marker: true)], gives: [["658811"]]),
    Camera(
      "packetization-mode 0 with fragments and aggregates",
      [.init("7800020605", 0), .init("7c858811", 0), .init("7c4522", 0, marker: true)],
      gives: [["0605", "65881122"]]),
    Camera(
      "an aggregation packet of one, and a byte too many", codec: H265.codec,
      [.init("6001000426018811ff", 0, marker: true)], gives: [["26018811"]]),
  ]

  @Test("What cameras send comes out right", arguments: cameras)
  func comesOutRight(_ camera: Camera) throws { try camera.expectUnits() }

  @Test("Inner sizes that do not fit", arguments: Material.all)
  func innerSizes(_ material: Material) throws {
    let packetizer = Packetizer(codec: material.codec)
    let headerLength = material.codec == H264.codec ? 1 : 2
    let whole = packetizer.aggregate([material.slice, material.laterSlice])
    let place = headerLength + 2 + material.slice.count
    let rest = material.laterSlice.count
    for size in [0, 1, rest - 1, rest, rest + 1, 0xFFFF] {
      var bench = try Bench(material.codec)
      var payload = whole
      payload[place] = UInt8(size >> 8)
      payload[place + 1] = UInt8(size & 0xFF)
      bench.push(payload, marker: true)
      bench.flush()
      // Bytes that are taken for a length make what follows unusable, never what precedes.
      #expect(bench.accessUnits.first?.wholeHex.first == material.slice.hex)
      // One byte too many is taken for nothing, as some payloaders add it.
      #expect((bench.statistics.troubles > 0) == !(rest - 1...rest).contains(size), "\(size)")
      expectRecovery(&bench, material)
    }
  }

  @Test(
    "A start code before each entry (V380), behind a loss", arguments: Material.all,
    [[0, 0, 1], [0, 0, 0, 1]] as [[UInt8]])
  func startCodes(_ material: Material, _ code: [UInt8]) throws {
    var bench = try Bench(material.codec)
    bench.push(material.slice, marker: true)
    let units = material.parameterSets + [material.keySlice]
    let payload = Packetizer(codec: material.codec).aggregate(units.map { code + $0 })
    bench.push(payload, at: 3000, marker: true, lost: 1)
    #expect(bench.accessUnits.last?.hex == units.map(\.hex))
    #expect(bench.accessUnits.last?.integrity == .whole)
    #expect(bench.statistics.troubles == 0)
  }

  @Test("Stray bytes and padding after the last entry", arguments: Material.all)
  func strayBytes(_ material: Material) throws {
    for stray in [[0], [7], [0, 0], [0, 0, 0, 0, 0]] as [[UInt8]] {
      var bench = try Bench(material.codec)
      let units = [material.slice, material.laterSlice]
      bench.push(Packetizer(codec: material.codec).aggregate(units) + stray, marker: true)
      #expect(bench.accessUnits.map(\.hex) == [units.map(\.hex)])
      #expect(bench.statistics.troubles == 0)
      expectRecovery(&bench, material)
    }
  }

  @Test(
    "Packet structures inside aggregates and fragments are no NAL units", arguments: Material.all)
  func nesting(_ material: Material) throws {
    let packetizer = Packetizer(codec: material.codec)
    let inner = packetizer.aggregate([material.slice])
    var bench = try Bench(material.codec)
    bench.push(packetizer.aggregate([inner]))
    for fragment in packetizer.fragments(of: inner, maximum: 4) { bench.push(fragment.bytes) }
    bench.flush()
    #expect(bench.accessUnits.isEmpty)
    #expect(bench.statistics.reservedTypes == 1)
    #expect(bench.statistics.malformedPayloads == 1)
    expectRecovery(&bench, material)
  }

  @Test(
    "an aggregation packet of empty entries, and one byte that is none",
    .timeLimit(.minutes(1)), arguments: [(H264.codec, [0x78]), (H265.codec, [0x60, 1])])
  func emptyEntries(codec: VideoCodec, header: [UInt8]) throws {
    var bench = try Bench(codec)
    let payload = header + [UInt8](repeating: 0, count: 65_400) + [1]
    for _ in 0..<10 { bench.push(payload, at: 0) }
    #expect(bench.statistics.emptyEntries == 327_000)
    #expect(bench.statistics.emptyPayloads == 10)
  }
}
