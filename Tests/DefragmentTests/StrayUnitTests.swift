import Bitstream
import Defragment
import NIOCore
import TestSupport
import Testing

/// Units between the slices of a picture do not end it.
@Suite("Units between the slices of a picture")
struct StrayUnitTests {
  /// Parameter sets, the slices of two pictures with the same time, and units between slices.
  struct Row: Sendable, CustomTestStringConvertible {
    let material: Material
    let between: [[UInt8]]
    /// Which of these remain, before the first slice.
    let kept: [[UInt8]]
    var packing = Packing.single

    var testDescription: String {
      "\(material.codec.encodingName), \(between.map { Array($0.prefix(2)).hex }) \(packing)"
    }
  }

  enum Packing: Sendable, CaseIterable { case single, aggregated, fragmented }

  static let rows: [Row] = Material.all.flatMap { material in
    let sets = material.parameterSets
    return Packing.allCases.flatMap { packing in
      [
        Row(material: material, between: sets, kept: [], packing: packing),
        Row(material: material, between: [material.delimiter], kept: [], packing: packing),
        Row(
          material: material, between: [material.supplementalInformation],
          kept: [material.supplementalInformation], packing: packing),
        Row(
          material: material,
          between: [material.delimiter] + sets + [material.supplementalInformation],
          kept: [material.supplementalInformation], packing: packing),
      ]
    }
  }

  private func payloads(_ units: [[UInt8]], _ row: Row) -> [[UInt8]] {
    let packetizer = Packetizer(codec: row.material.codec)
    return switch row.packing {
    case .single: units
    case .aggregated: [packetizer.aggregate(units)]
    case .fragmented:
      units.flatMap { unit in
        unit.count < 12 ? [unit] : packetizer.fragments(of: unit, maximum: 9).map(\.bytes)
      }
    }
  }

  private func push(_ units: [[UInt8]], _ row: Row, at ticks: Int64, to bench: inout Bench) {
    for payload in payloads(units, row) { bench.push(payload, at: ticks) }
  }

  @Test("It is one access unit, with each parameter set once", arguments: rows)
  func joins(_ row: Row) throws {
    let material = row.material
    var bench = try Bench(material.codec)
    push(material.parameterSets + [material.slice], row, at: 0, to: &bench)
    push(row.between + [material.laterSlice], row, at: 0, to: &bench)
    push(row.between, row, at: 0, to: &bench)
    bench.push(material.laterSlice, at: 0, marker: true)
    #expect(
      bench.take().map(\.hex) == [
        (material.parameterSets + row.kept + row.kept
          + [material.slice, material.laterSlice, material.laterSlice]).map(\.hex)
      ])

    // The next picture is not held up by what the one before it was like.
    bench.push(material.slice, at: 3000, marker: true)
    let next = bench.take()
    #expect(next.map(\.hex) == [[material.slice.hex]])
    #expect(next.map(\.integrity) == [.whole])
  }

  @Test("The next picture takes them along", arguments: rows)
  func separates(_ row: Row) throws {
    let material = row.material
    var bench = try Bench(material.codec)
    push(material.parameterSets + [material.slice], row, at: 0, to: &bench)
    push(row.between + [material.keySlice], row, at: 0, to: &bench)
    push(row.between + [material.slice], row, at: 3000, to: &bench)
    bench.flush()
    let expected =
      [material.parameterSets + [material.slice]]
      + [row.between + [material.keySlice], row.between + [material.slice]]
    #expect(bench.accessUnits.map(\.hex) == expected.map { $0.map(\.hex) })
    #expect(bench.accessUnits.allSatisfy { $0.integrity == .whole && $0.isTidy })
  }

  @Test("A packet lost among them damages the picture that they are in", arguments: rows)
  func loses(_ row: Row) throws {
    let material = row.material
    var bench = try Bench(material.codec)
    push(material.parameterSets + [material.slice], row, at: 0, to: &bench)
    bench.push(material.laterSlice, at: 0, marker: true)
    push(material.parameterSets + [material.slice], row, at: 3000, to: &bench)
    push(row.between, row, at: 3000, to: &bench)
    bench.push(material.laterSlice, at: 3000, marker: true, lost: 1)
    push([material.slice], row, at: 6000, to: &bench)
    bench.push(material.laterSlice, at: 6000, marker: true)
    #expect(bench.accessUnits.map(\.integrity) == [.whole, .damaged, .whole])
    #expect(bench.accessUnits.map(\.damage) == [nil, .lostPackets, nil])
    #expect(bench.accessUnits.map(\.lostPackets) == [0, 1, 0])
    #expect(bench.statistics.damaged == [.lostPackets: 1])
  }

  @Test("A marker on parameter sets ends the picture before them", arguments: Material.all)
  func marker(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.slice, at: 0, marker: true)
    bench.push(material.slice, at: 3000)
    for set in material.parameterSets { bench.push(set, at: 3000, marker: true) }
    #expect(bench.accessUnits.count == 2)
    bench.push(material.slice, at: 6000, marker: true)
    #expect(
      bench.accessUnits.last?.hex == (material.parameterSets + [material.slice]).map(\.hex))
  }

  @Test(
    "Slices with one time are told apart by their headers, first slice or not",
    arguments: [
      // The same, but for frame_num, for pic_order_cnt_lsb, for nal_ref_idc becoming 0, and not at
      // all.
      ("411069132d", [1, 1]), ("411068a32d", [1, 1]), ("011068932d", [1, 1]), ("211068932d", [2]),
      // The first slice again.
      ("419a24cb40", [1, 1]),
    ])
  func headers(_ slice: String, _ expected: [Int]) throws {
    var bench = try Bench(H264.codec)
    bench.push("674d001ef4e2")
    bench.push("68ce3880")
    bench.push("419a24cb40", at: 0)
    bench.push(slice, at: 0)
    bench.flush()
    #expect(bench.accessUnits.map { $0.units.filter { $0.type == 1 }.count } == expected)
  }
}
