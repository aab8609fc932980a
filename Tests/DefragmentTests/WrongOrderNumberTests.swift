import Bitstream
import Defragment
import NIOCore
import Testing

/// Decoding order numbers that jump hold up nothing (RFC 6184 §5.5, RFC 7798 §4.4).
@Suite("Decoding order numbers that jump")
struct WrongOrderNumberTests {
  @Test("Units after one wrong number still come in order", arguments: [20_000, 40_000, 65_000])
  func oneWrongNumber(_ wrong: UInt16) throws {
    let swapped = (UInt16(1)...20).flatMap { [2 * $0 + 1, 2 * $0] }
    let marks = try units(numbers: [0, 1, wrong] + swapped)
    #expect(marks.filter { $0 != wrong } == [UInt16](0...41))
    #expect(marks.count { $0 == wrong } == 1)
  }

  @Test("A sender that numbers afresh loses nothing", arguments: [0, 100, 30_000])
  func afresh(_ start: UInt16) throws {
    let before = (UInt16(50_000)...50_020).map { $0 }
    let after = (start...(start + 20)).map { $0 }
    #expect(try units(numbers: before + after) == before + after)
  }

  /// The numbers of the units that come out, sent in the order of `numbers` by STAP-B.
  private func units(numbers: [UInt16]) throws -> [UInt16] {
    var bench = try Bench(
      H264.codec,
      parameters: [
        "packetization-mode": "2", "sprop-interleaving-depth": "2", "sprop-max-don-diff": "6",
      ])
    for (index, number) in numbers.enumerated() {
      let (high, low) = (UInt8(number >> 8), UInt8(truncatingIfNeeded: number))
      bench.push([0x79, high, low, 0, 4, 0x41, 0x9A, high, low], at: Int64(index) * 3000)
    }
    bench.flush()
    #expect(bench.statistics.troubles == 0)
    return bench.accessUnits.flatMap { accessUnit in
      accessUnit.nalUnits.compactMap { $0.getInteger(at: $0.readerIndex + 2, as: UInt16.self) }
    }
  }
}
