import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Parameter sets with invalid fields: they are counted, no memory is reserved for them, and later
/// valid ones are used.
@Suite("Parameter sets out of range")
struct ParameterSetRangeTests {
  /// Writes the fields of a sequence parameter set, any of which can be invalid.
  struct BaselineSet: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var identifier = 0
    var orderType = 0
    var cycle: Int?
    var columns = 40
    var rows = 30
    var crop: [Int]?
    var fields = false

    var bytes: [UInt8] {
      var bits = BitWriter()
      bits.unsigned(identifier)
      bits.unsigned(0)
      bits.unsigned(orderType)
      if orderType == 0 { bits.unsigned(0) }
      if let cycle {
        bits.bits("0")
        bits.unsigned(0)
        bits.unsigned(0)
        bits.unsigned(cycle)
        for _ in 0..<min(cycle, 300) { bits.unsigned(0) }
      }
      bits.unsigned(1)
      bits.bits("0")
      bits.unsigned(columns - 1)
      bits.unsigned(rows - 1)
      bits.bits(fields ? "00" : "1")
      bits.bits("1")
      bits.bits(crop == nil ? "0" : "1")
      for offset in crop ?? [] { bits.unsigned(offset) }
      bits.bits("01")
      return [0x67, 66, 0xC0, 30] + bits.bytes
    }
  }

  @Test(
    "H.264",
    arguments: [
      BaselineSet(testDescription: "number 32", identifier: 32),
      BaselineSet(testDescription: "order type 3", orderType: 3),
      BaselineSet(testDescription: "cycle of 256", orderType: 1, cycle: 256),
      BaselineSet(testDescription: "16896 columns", columns: 1056),
      BaselineSet(testDescription: "16896 rows", rows: 1056),
      BaselineSet(
        testDescription: "16896 rows of two fields, cropped to 480", rows: 528,
        crop: [0, 0, 0, 4104], fields: true),
      BaselineSet(testDescription: "crop as wide as the picture", crop: [0, 320, 0, 0]),
      BaselineSet(testDescription: "crop larger than the picture", crop: [0, 0, 400, 0]),
      BaselineSet(testDescription: "crop of 2^31", crop: [0, 1 << 31, 0, 0]),
      BaselineSet(testDescription: "2^32 - 2 columns", columns: (1 << 32) - 1),
    ])
  func h264(_ set: BaselineSet) throws {
    #expect(try ParameterSetTests.description(of: set.bytes, H264.codec) == nil)
    var bench = try Bench(H264.codec)
    bench.push(set.bytes)
    bench.push(BaselineSet(testDescription: "").bytes)
    bench.push(Material.h264.keySlice, marker: true)
    #expect(bench.statistics.malformedParameterSets == 1)
    #expect(bench.accessUnits.map { $0.format?.width } == [640])
    #expect(bench.accessUnits.map { $0.format?.height } == [480])
  }

  @Test("The largest and the widest that there are", arguments: [(512, 512), (1055, 135)])
  func largest(columns: Int, rows: Int) throws {
    let set = BaselineSet(testDescription: "", columns: columns, rows: rows)
    let description = try ParameterSetTests.description(of: set.bytes, H264.codec)
    #expect(description?.width == 16 * columns && description?.height == 16 * rows)
  }

  @Test("Codes of 32 zeros and more", arguments: Material.all, 31...80)
  func zeros(_ material: Material, _ count: Int) throws {
    let sequence = material.codec == H264.codec ? 0 : 1
    let zeros = (0..<(count / 8)).flatMap { index -> [UInt8] in [0, index % 2 == 1 ? 3 : 0] }
    for (index, kept) in [(sequence, material.codec == H264.codec ? 4 : 15), (sequence + 1, 2)] {
      var set = Array(material.parameterSets[index].prefix(kept))
      set += zeros
      set += [1 << UInt8(7 - count % 8), 0xFF, 0xFF, 0xFF]
      var bench = try Bench(material.codec)
      bench.push(set)
      bench.push(material.keySlice, marker: true)
      #expect(bench.accessUnits.count == 1)
      #expect(bench.defragmenter.formatDescription == nil)
    }
  }

  @Test("H.265: seven sub-layers are most, eight are refused")
  func subLayers() throws {
    let sps = Material.h265.parameterSets[1]
    for subLayers in UInt8.min...7 {
      var set = sps
      set[2] = subLayers << 1 | 1
      let description = try ParameterSetTests.description(of: set, H265.codec)
      // With another number of them all that follows lies elsewhere: only 0 can be right.
      if subLayers == 0 { #expect(description?.width == 704) }
      if subLayers == 7 { #expect(description == nil) }
    }
  }

  @Test("Every truncation and every flipped bit of good sets and slices", arguments: Material.all)
  func truncations(_ material: Material) throws {
    let units = material.parameterSets + [material.keySlice]
    for (index, unit) in units.enumerated() {
      var variants = (1..<unit.count).map { Array(unit.prefix($0)) }
      variants += (1..<unit.count).map { Array(unit.prefix($0)) + [0, 0, 3] }
      for bit in 8..<(8 * min(unit.count, 24)) {
        var flipped = unit
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        variants.append(flipped)
      }
      for variant in variants {
        var bench = try Bench(material.codec)
        for (place, other) in units.enumerated() {
          bench.push(place == index ? variant : other, marker: place == units.count - 1)
        }
        for unit in units {
          bench.push(unit, at: 3000, marker: unit == units.last)
        }
        #expect(bench.accessUnits.last?.wholeHex.suffix(units.count) == units.map(\.hex)[...])
        for unit in bench.accessUnits {
          guard let format = unit.format else { continue }
          let sides = 1...FormatDescription.maximumSide
          #expect(sides.contains(format.width) && sides.contains(format.height))
        }
      }
    }
  }
}

/// Bits, most significant first, with Exp-Golomb codes and emulation prevention.
struct BitWriter {
  private var text = ""

  mutating func bits(_ bits: String) { text += bits }

  mutating func unsigned(_ value: Int) {
    let code = String(value + 1, radix: 2)
    text += String(repeating: "0", count: code.count - 1) + code
  }

  /// With a stop bit, as raw byte sequence payloads end.
  var bytes: [UInt8] {
    var rest = (text + "1")[...]
    var bytes: [UInt8] = []
    while !rest.isEmpty {
      let digits = rest.prefix(8)
      rest = rest.dropFirst(8)
      let byte = (UInt8(digits, radix: 2) ?? 0) << UInt8(8 - digits.count)
      if bytes.suffix(2) == [0, 0], byte <= 3 { bytes.append(3) }
      bytes.append(byte)
    }
    return bytes
  }
}
