import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// What a few bytes could make long, large or fatal stays within its limits.
@Suite("Limits")
struct LimitTests {
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

  @Test func aFragmentedUnitThatNeverEndsStaysBounded() throws {
    var bench = try Bench(H264.codec)
    let middle = [0x7C, 0x05] + [UInt8](repeating: 0xAA, count: 1398)
    bench.push([0x7C, 0x85, 0x88], at: 0)
    for _ in 0..<10_000 { bench.push(middle, at: 0) }
    #expect(bench.statistics.oversizedUnits > 0)
    try expectKeyPicture(from: &bench, of: H264.codec)
    let limit = VideoDefragmenter.Limits().accessUnitBytes
    #expect(bench.accessUnits.allSatisfy { $0.bytes.readableBytes <= limit })
  }

  /// A filler that is cut before each key picture, and 255 picture parameter sets of 2 KiB.
  @Test func tinyPicturesDoNotHaveLargeParameterSetsRepeated() throws {
    let material = Material.h264
    var bench = try Bench(H264.codec)
    var received = 0
    func push(_ payload: [UInt8], at time: Int64, marker: Bool = false) {
      received += payload.count
      bench.push(payload, at: time, marker: marker)
    }
    push(Array(material.parameterSets[0]), at: 0)
    // Identifiers 1 to 255 in Exp-Golomb codes; the sequence parameter set is number 0.
    for number in 2...256 as ClosedRange<UInt32> {
      let length = 31 - number.leadingZeroBitCount
      let code = UInt64(number) << (62 - 2 * UInt64(length)) | 1 << (61 - 2 * UInt64(length))
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: code >> (55 - 8 * $0)) }
      push([0x68] + bytes + [UInt8](repeating: 0x55, count: 2040), at: 0)
    }
    for number in 1...500 as ClosedRange<Int64> {
      push([0x7C, 0x8C, 0x55], at: 3000 * number)
      push(Array(material.keySlice.prefix(8)), at: 3000 * number + 1, marker: true)
    }
    bench.flush()
    let bytes = bench.accessUnits.reduce(0) { $0 + $1.bytes.readableBytes }
    #expect(bench.accessUnits.count > 400)
    #expect(bytes < 4 * received, "\(bytes) bytes of \(received)")
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

  /// The level allows 1,425 slices of 1920x1080 in H.264, and 600 in H.265.
  ///
  /// These have filler behind each.
  @Test("More than 1,024 units of one picture, as its level allows", arguments: Material.all)
  func manySlices(_ material: Material) throws {
    var bench = try Bench(material.codec)
    var units = Self.slicesOfFiveMacroblocks(1425)
    if material.codec == H265.codec {
      units = material.parameterSets
      for number in 0..<600 {
        units.append(number == 0 ? material.keySlice : material.laterKeySlice)
        units.append(bytes("4c01ffff80"))
      }
    }
    for unit in units.dropLast() { bench.push(unit) }
    bench.push(units[units.count - 1], marker: true)
    #expect(bench.statistics.excessUnits == 0)
    #expect(bench.accessUnits.map(\.integrity) == [.whole])
    #expect(bench.accessUnits.first?.wholeHex == units.map(\.hex))
  }

  /// A key picture of 1920x1080 in `count` slices, behind its parameter sets.
  private static func slicesOfFiveMacroblocks(_ count: Int) -> [[UInt8]] {
    let set = ParameterSetRangeTests.BaselineSet(
      testDescription: "", columns: 120, rows: 68, crop: [0, 0, 0, 4])
    let slices = (0..<count).map { number in
      var bits = BitWriter()
      // first_mb_in_slice, slice_type, pic_parameter_set_id.
      for value in [5 * number, 7, 0] { bits.unsigned(value) }
      // frame_num, idr_pic_id, pic_order_cnt_lsb, and what stands for the macroblocks.
      bits.bits("0000" + "1" + "0000" + String(repeating: "01", count: 20))
      return [0x65] + bits.bytes
    }
    return [set.bytes, Material.h264.parameterSets[1]] + slices
  }

  @Test func tinyUnitsOfOneTimestampStayBounded() throws {
    var bench = try Bench(H264.codec)
    for _ in 0..<50_000 { bench.push([0x41], at: 0) }
    #expect(bench.statistics.excessUnits > 0)
    try expectKeyPicture(from: &bench, of: H264.codec)
    let limit = VideoDefragmenter.Limits().unitsPerAccessUnit
    #expect(bench.accessUnits.allSatisfy { $0.units.count <= limit })
  }

  /// What stands between the slices is moved before them, which must not take endless room.
  @Test(
    "Slices and messages by turns without end", arguments: Material.all, [10, 60_000])
  func alternation(_ material: Material, _ length: Int) throws {
    var bench = try Bench(material.codec)
    let limits = VideoDefragmenter.Limits()
    let message = material.supplementalInformation + [UInt8](repeating: 0x55, count: length)
    bench.push(material.slice)
    for _ in 0..<3000 {
      bench.push(message)
      bench.push(material.laterSlice)
    }
    #expect(bench.accessUnits.isEmpty && bench.statistics.excessUnits > 1000)
    bench.flush()
    let unit = try #require(bench.accessUnits.first)
    #expect(unit.bytes.readableBytes <= limits.accessUnitBytes && unit.damage == .overLimit)
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

  /// Each with a different identifier, and none needed.
  @Test("parameter sets to fill the memory with")
  func manyParameterSets() throws {
    var bench = try Bench(H264.codec)
    for set in Material.h264.parameterSets { bench.push(set, at: 0) }
    for identifier in 1..<200 as Range<UInt32> {
      // An Exp-Golomb code of 15 bits.
      let code = (identifier + 1) << 8
      bench.push(
        [0x68, 0, UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
          + [UInt8](repeating: 0x55, count: 16_000), at: 0)
    }
    let bytes = bench.defragmenter.parameterSets.inNaturalOrder.reduce(0) { $0 + $1.readableBytes }
    #expect(bytes <= 512 << 10)
    #expect(bench.statistics.malformedParameterSets > 100)
  }

  @Test(
    "an interleaving depth that nobody can mean",
    arguments: [
      "9223372036854775807", "2305843009213693952", "-9223372036854775808", "99999999999999999999",
    ])
  func depth(_ depth: String) throws {
    var bench = try Bench(
      H264.codec, parameters: ["packetization-mode": "2", "sprop-interleaving-depth": depth])
    bench.push("79 0000 0002 65 88 0002 41 9a", at: 0)
    bench.push("79 0002 0002 41 9b 0002 41 9c", at: 3000, marker: true)
    bench.flush()
    #expect(bench.take().flatMap(\.hex) == ["6588", "419a", "419b", "419c"])
  }

  @Test("a picture without end, of which every second packet is lost")
  func endlessGaps() throws {
    var bench = try Bench(H264.codec)
    bench.push("41 9a 01", at: 0)
    for _ in 0..<3000 { bench.push("41 40 01", at: 0, lost: 1) }
    bench.flush()
    let unit = try #require(bench.take().first)
    #expect(unit.lostPackets == 3000)
    #expect(unit.gaps.count <= VideoDefragmenter.Limits().unitsPerAccessUnit + 1)
  }
}
