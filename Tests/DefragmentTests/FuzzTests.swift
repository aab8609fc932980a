import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Random streams, valid and invalid, each continuing after the last.
@Suite("Random streams")
struct FuzzTests {
  @Test("No operation in any order breaks an invariant", arguments: Material.all, UInt64(1)...4)
  func operations(_ material: Material, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let parameters: [[String: String]] = [
      [:], ["packetization-mode": "2", "sprop-max-don-diff": "8", "sprop-depack-buf-nalus": "4"],
    ]
    var bench = try Bench(material.codec, parameters: parameters[Int(seed % 2)])
    let packetizer = Packetizer(codec: material.codec, isNumbered: seed % 2 == 1)
    let good = payloads(of: material, packetizer)
    var ticks: Int64 = 0
    var lost: UInt64 = 0
    var reported: UInt64 = 0
    for _ in 0..<12_500 {
      var payload = good[Int.random(in: 0..<good.count, using: &random)]
      switch Int.random(in: 0..<10, using: &random) {
      case 0: payload = Array(payload.prefix(Int.random(in: 0...payload.count, using: &random)))
      case 1...2:
        let place = Int.random(in: 0..<payload.count, using: &random)
        payload[place] = UInt8.random(in: 0...255, using: &random)
      case 3:
        payload = (0..<Int.random(in: 0...40, using: &random)).map { _ in
          // Often 0, 1 and 3, which start codes and emulation prevention consist of.
          [0, 0, 1, 3, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
        }
      default: break
      }
      if Int.random(in: 0..<3, using: &random) == 0 { ticks += 3000 }
      let gap = Int.random(in: 0..<20, using: &random) == 0 ? 2 : 0
      lost += UInt64(gap)
      bench.push(
        payload, at: ticks, marker: Int.random(in: 0..<4, using: &random) == 0, lost: gap,
        isDiscontinuity: Int.random(in: 0..<500, using: &random) == 0)
      if Int.random(in: 0..<1000, using: &random) == 0 { bench.flush() }
      for unit in bench.take() { check(unit, reported: &reported) }
    }
    bench.flush()
    bench.push(
      packetizer.aggregate(
        [material.delimiter, material.keySlice], number: seed % 2 == 1 ? 9 : nil),
      at: ticks + 3000, marker: true)
    bench.flush()
    let last = bench.take()
    #expect(last.last?.wholeHex.suffix(2) == [material.delimiter.hex, material.keySlice.hex])
    for unit in last { check(unit, reported: &reported) }
    #expect(reported == lost, "every loss is told once")
    #expect(bench.statistics.packets == 12_501)
  }

  private func check(_ accessUnit: AccessUnit, reported: inout UInt64) {
    reported += UInt64(accessUnit.lostPackets)
    var end = 0
    for unit in accessUnit.units {
      // Without gaps: each unit directly follows its start code.
      if unit.offset != end + 4 || unit.length <= 0 { Issue.record("\(accessUnit)") }
      end = unit.offset + unit.length
    }
    #expect(end == accessUnit.bytes.readableBytes && end > 0)
    #expect(accessUnit.integrity == .damaged || accessUnit.units.allSatisfy(\.isWhole))
    #expect(
      accessUnit.integrity != .whole || accessUnit.lostPackets == 0 || accessUnit.isRandomAccess)
    #expect(accessUnit.firstArrival <= accessUnit.lastArrival)
  }

  private func payloads(of material: Material, _ packetizer: Packetizer) -> [[UInt8]] {
    let units =
      material.parameterSets + [
        material.delimiter, material.keySlice, material.slice, material.laterSlice,
        material.supplementalInformation, material.recoveryPoint,
      ]
    return units.map { packetizer.single($0, number: 3) }
      + units.flatMap { packetizer.fragments(of: $0, maximum: 6).map(\.bytes) }
      + [packetizer.aggregate(units), packetizer.aggregate(units, number: 7)]
      + units.flatMap { packetizer.fragments(of: $0, maximum: 9, number: 5).map(\.bytes) }
  }
}
