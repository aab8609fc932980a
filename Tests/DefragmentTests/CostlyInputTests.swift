import Bitstream
import Defragment
import NIOCore
import Testing

/// What a few bytes could have made long, large or fatal.
struct CostlyInputTests {
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
}
