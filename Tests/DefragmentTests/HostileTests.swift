import Bitstream
import Defragment
import NIOCore
import RTPWire
import Testing

/// Inputs that broke other receivers: nothing may trap or grow, each is counted, and the next key
/// picture comes out as it was sent.
@Suite("Hostile payloads")
struct HostileTests {
  /// Sends a whole key picture and expects it back.
  private func expectRecovery(
    _ bench: inout Bench, _ material: Material, lost: Int = 0,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    _ = bench.take()
    let units = [material.delimiter] + material.parameterSets + [material.keySlice]
    for unit in units {
      bench.push(unit, at: 1 << 40, marker: unit == material.keySlice, lost: 0)
    }
    let last = bench.take().last
    #expect(
      last?.wholeHex.suffix(units.count) == units.map(\.hex)[...], sourceLocation: sourceLocation)
    #expect(last?.time.ticks == 1 << 40, sourceLocation: sourceLocation)
    if let last { #expect(last.isTidy, sourceLocation: sourceLocation) }
  }

  @Test(
    "Every payload structure in every length up to 12", arguments: Material.all,
    [0x00, 0xFF, 0x80, 0x40])
  func shortPayloads(_ material: Material, _ filler: UInt8) throws {
    let numbering: [[String: String]] = [
      [:], ["packetization-mode": "2", "sprop-max-don-diff": "4", "sprop-depack-buf-nalus": "2"],
    ]
    for parameters in numbering {
      for first in UInt8.min...UInt8.max {
        var bench = try Bench(material.codec, parameters: parameters)
        for length in 1...12 {
          var payload = [UInt8](repeating: filler, count: length)
          payload[0] = first
          bench.push(payload, at: Int64(length))
        }
        for unit in bench.accessUnits { #expect(unit.isTidy) }
        if parameters.isEmpty { expectRecovery(&bench, material) }
      }
    }
  }

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

  @Test("A fragmented unit that never ends", arguments: Material.all)
  func endless(_ material: Material) throws {
    var bench = try Bench(material.codec)
    let limit = VideoDefragmenter.Limits().accessUnitBytes
    let unit = [UInt8](material.slice + [UInt8](repeating: 0x5A, count: 1400 * 4))
    let fragments = Packetizer(codec: material.codec).fragments(of: unit, maximum: 1400)
    bench.push(fragments[0].bytes)
    for _ in 0..<20_000 { bench.push(fragments[1].bytes) }
    #expect(bench.accessUnits.isEmpty)
    #expect(bench.statistics.oversizedUnits == 1)
    bench.flush()
    let cut = try #require(bench.accessUnits.first)
    #expect(cut.bytes.readableBytes <= limit && cut.bytes.capacity <= 2 * limit)
    #expect(cut.units.map(\.isWhole) == [false] && cut.integrity == .damaged)
    expectRecovery(&bench, material)
  }

  @Test("Endless tiny NAL units at one time", arguments: Material.all, [true, false])
  func tinyUnits(_ material: Material, _ isPicture: Bool) throws {
    var bench = try Bench(material.codec)
    let most = VideoDefragmenter.Limits().unitsPerAccessUnit
    // One that says nothing, and a later slice: without and with a picture.
    let tiny: [UInt8] = isPicture ? Array(material.laterSlice.prefix(3)) : Array(material.delimiter)
    for _ in 0..<20_000 { bench.push(tiny) }
    #expect(bench.statistics.excessUnits > 18_000)
    #expect(bench.accessUnits.isEmpty)
    expectRecovery(&bench, material)
    bench.flush()
    for unit in bench.accessUnits { #expect(unit.units.count <= most) }
  }

  @Test("Thousands of start codes in one NAL unit", arguments: Material.all, [false, true])
  func startCodes(_ material: Material, _ isFilled: Bool) throws {
    var bench = try Bench(material.codec)
    let piece: [UInt8] = isFilled ? [0, 0, 1, 0x41, 0x01, 0x11] : [0, 0, 1]
    let payload = Array(material.slice + (0..<10_000).flatMap { _ in piece })
    let time = ContinuousClock().measure {
      for _ in 0..<4 { bench.push(payload) }
    }
    // Linear time takes milliseconds, quadratic time minutes.
    #expect(time < .seconds(2))
    bench.flush()
    for unit in bench.accessUnits {
      #expect(unit.isTidy)
      #expect(unit.units.count <= VideoDefragmenter.Limits().unitsPerAccessUnit)
    }
    expectRecovery(&bench, material)
  }

  @Test("Oversized material without a picture does not last", arguments: Material.all)
  func oversizedWithoutPicture(_ material: Material) throws {
    var bench = try Bench(material.codec)
    let filler = material.supplementalInformation + [UInt8](repeating: 0xFF, count: 60_000)
    for _ in 0..<150 { bench.push(filler) }
    #expect(bench.statistics.oversizedUnits > 0)
    expectRecovery(&bench, material)
  }

  @Test("Parameter sets beyond all measure are not kept", arguments: Material.all)
  func hugeParameterSets(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.parameterSets[1] + [UInt8](repeating: 0x55, count: 60_000))
    #expect(bench.defragmenter.parameterSets.inNaturalOrder.isEmpty)
    #expect(bench.statistics.malformedParameterSets == 1)
    expectRecovery(&bench, material)
  }

  @Test("Fragments without a beginning, an end, or their own time", arguments: Material.all)
  func fragments(_ material: Material) throws {
    let packets = Packetizer(codec: material.codec).fragments(of: material.keySlice, maximum: 7)
      .map(\.bytes)
    #expect(packets.count == 3)
    var bench = try Bench(material.codec)
    bench.push(packets[1])
    bench.push(packets[2], marker: true)
    #expect(bench.statistics.orphanFragments == 2 && bench.accessUnits.isEmpty)

    bench.push(packets[0], at: 3000)
    bench.push(packets[0], at: 3000)
    bench.push(packets[1], at: 3000)
    bench.push(packets[2], at: 3000, marker: true)
    #expect(bench.statistics.cutUnits == 1)
    #expect(bench.take().flatMap(\.units).map(\.isWhole) == [false, true])

    bench.push(packets[0], at: 6000)
    bench.push(packets[1], at: 9000)
    bench.push(packets[2], at: 9000, marker: true)
    bench.flush()
    #expect(bench.statistics.cutUnits == 2 && bench.statistics.orphanFragments == 4)
    #expect(bench.take().flatMap(\.units).map(\.isWhole) == [false])

    bench.push(packets[0], at: 12_000)
    bench.push(packets[2], at: 12_000, marker: true, lost: 1)
    let damaged = bench.take()
    #expect(damaged.flatMap(\.units).map(\.isWhole) == [false])
    #expect(damaged.map(\.lostPackets) == [1] && damaged.map(\.integrity) == [.damaged])
    expectRecovery(&bench, material)
  }

  @Test(
    "An empty fragment is one; a fragment without its header is a hole", arguments: Material.all)
  func emptyFragments(_ material: Material) throws {
    let packets = Packetizer(codec: material.codec).fragments(of: material.keySlice, maximum: 11)
      .map(\.bytes)
    let header = material.codec == H264.codec ? 2 : 3
    var bench = try Bench(material.codec)
    bench.push(packets[0])
    bench.push(Array(packets[1].prefix(header)).withoutEnd(at: header - 1))
    bench.push(packets[1], marker: true)
    #expect(bench.take().map(\.hex) == [[material.keySlice.hex]])

    bench.push(packets[0], at: 3000)
    bench.push(Array(packets[1].prefix(header - 1)), at: 3000)
    bench.push(packets[1], at: 3000, marker: true)
    #expect(bench.take().flatMap(\.units).map(\.isWhole) == [false])
    expectRecovery(&bench, material)
  }

  @Test("H.264 extension types of a header alone", arguments: [14, 20, 21], 1...4)
  func extensions(_ type: UInt8, _ length: Int) throws {
    var bench = try Bench(H264.codec)
    bench.push([0x60 | type] + [UInt8](repeating: 0, count: length - 1), marker: true)
    expectRecovery(&bench, .h264)
  }

  @Test("H.265 content information around a slice, and cut", arguments: 0...31)
  func contentInformation(_ extensionLength: Int) throws {
    let material = Material.h265
    let fields = UInt16(material.slice[0] >> 1) << 9 | UInt16(extensionLength) << 4
    let whole: [UInt8] =
      [50 << 1, material.slice[1], UInt8(fields >> 8), UInt8(fields & 0xFF)]
      + [UInt8](repeating: 0xEE, count: extensionLength) + material.slice.dropFirst(2)
    var bench = try Bench(H265.codec)
    bench.push(whole, marker: true)
    #expect(bench.take().map(\.hex) == [[material.slice.hex]])
    for length in 0..<(4 + extensionLength) { bench.push(Array(whole.prefix(length))) }
    #expect(bench.statistics.troubles == UInt64(4 + extensionLength))
    expectRecovery(&bench, material)
  }
}

extension [UInt8] {
  /// Without the end bit in the fragment header at `index`.
  fileprivate func withoutEnd(at index: Int) -> [UInt8] {
    var copy = self
    copy[index] &= ~0x40
    return copy
  }
}
