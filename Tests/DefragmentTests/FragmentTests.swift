import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Fragments with their ends missing, doubled or empty (RFC 6184 §5.8, RFC 7798 §4.4.3).
@Suite("Fragments")
struct FragmentTests {
  static let cameras: [Camera] = [
    Camera(
      "CostarHD: one fragment with both ends",
      [.init("7cc58811", 0, marker: true)], gives: [["658811"]]),
    Camera(
      "OpenIPC: one H.265 fragment with both ends", codec: H265.codec,
      [.init("6201d38811", 0, marker: true)], gives: [["26018811"]]),
    Camera(
      "Tiandy: the type changes between fragments",
      [.init("7c858811", 0), .init("7c4122", 0, marker: true)], gives: [["65881122"]]),
    Camera(
      "Longse: the reserved bit of fragments is set",
      [.init("7ca58811", 0), .init("7c6522", 0, marker: true)], gives: [["65881122"]]),
    Camera(
      "no end bit: the marker ends a unit",
      [
        .init("7c858811", 0), .init("7c0522", 0, marker: true), .init("7c819a33", 3000),
        .init("7c0144", 3000, marker: true),
      ], gives: [["65881122"], ["619a3344"]]),
    Camera(
      "no end bit: another unit ends a unit",
      [
        .init("7c858811", 0), .init("7c0522", 0), .init("7c854033", 0), .init("7c0544", 0),
        .init("654055", 0, marker: true),
      ], gives: [["65881122", "65403344", "654055"]]),
    Camera(
      "no end bit and no marker: the next time ends a unit", codec: H265.codec,
      [
        .init("620193af11", 0), .init("62011322", 0), .init("620181d033", 3000),
        .init("62010144", 3000), .init("0201d055", 6000),
      ], gives: [["2601af1122"], ["0201d03344"], ["0201d055"]]),
    Camera(
      "Dolby Vision: a unit of an unspecified type is fragmented too", codec: H265.codec,
      [
        .init("620193af11", 0), .init("62015322", 0), .init("6201bfaa", 0), .init("62013faa", 0),
        .init("62017faa", 0, marker: true), .init("620181d033", 3000), .init("62014144", 3000),
        .init("6201beaa", 3000), .init("62017eaa", 3000, marker: true),
      ], gives: [["2601af1122"], ["0201d03344"]]),
    Camera(
      "an empty fragment in the middle",
      [.init("7c858811", 0), .init("7c05", 0), .init("7c4522", 0, marker: true)],
      gives: [["65881122"]]),
  ]

  @Test("What cameras send comes out right", arguments: cameras)
  func comesOutRight(_ camera: Camera) throws { try camera.expectUnits() }

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
    #expect(damaged.map(\.damage) == [.lostPackets])
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

  @Test func aLostMiddleFragmentLeavesTheIntactBeginning() throws {
    var bench = try Bench(H264.codec)
    bench.push("7c858811", at: 0)
    bench.push("7c0522", at: 0, lost: 1)
    bench.push("7c4533", at: 0, marker: true)
    bench.push("419a44", at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.hex) == [["658811…"], ["419a44"]])
    #expect(bench.accessUnits.map(\.integrity) == [.damaged, .whole])
    #expect(bench.accessUnits.map(\.lostPackets) == [1, 0])
    #expect(bench.statistics.orphanFragments == 2)
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
