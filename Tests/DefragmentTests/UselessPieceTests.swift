import Bitstream
import Defragment
import Testing

/// What is dropped from a picture shows in its access unit, so nothing broken passes as good.
@Suite("Unusable pieces")
struct UselessPieceTests {
  private static let keySlice = "6588840102030405"
  private static let slice = "419a0102030405"

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let codec: VideoCodec
    /// Payloads of the first picture; the last one has the marker.
    let payloads: [String]
    /// What remains of it.
    let units: [String]
  }

  static let cases = [
    Case(
      testDescription: "a STAP-A cut within its second entry", codec: H264.codec,
      payloads: ["78 0008 \(keySlice) 0007 419a01"], units: [keySlice]),
    Case(
      testDescription: "an AP cut within its second entry", codec: H265.codec,
      payloads: ["6001 0006 2601af010203 0006 0201d0"], units: ["2601af010203"]),
    Case(
      testDescription: "fragments whose beginning nobody sent", codec: H264.codec,
      payloads: [slice, "7c01 0102", "7c41 0304"], units: [slice]),
    Case(
      testDescription: "a fragment of an aggregation packet", codec: H264.codec,
      payloads: [slice, "7c98 0102"], units: [slice]),
    Case(
      testDescription: "a key picture cut short behind its parameter sets (str0m)",
      codec: H264.codec,
      payloads: ["78 000e 6742c01e8c8d40501ed00f08846a 0004 68ce3c80 03fd 65888400"],
      units: ["6742c01e8c8d40501ed00f08846a", "68ce3c80"]),
    Case(
      testDescription: "parameter sets whose picture is fragments without a beginning",
      codec: H264.codec,
      payloads: ["6742c01e8c8d40501ed00f08846a", "68ce3c80", "7c05 0102", "7c45 0304"],
      units: ["6742c01e8c8d40501ed00f08846a", "68ce3c80"]),
  ]

  @Test("The access unit is damaged, and the next one is whole", arguments: cases)
  func damages(_ row: Case) throws {
    let next = row.codec == H264.codec ? Self.slice : "0201d0010203"
    var bench = try Bench(row.codec)
    for (index, payload) in row.payloads.enumerated() {
      bench.push(payload, at: 3000, marker: index == row.payloads.count - 1)
    }
    let first = bench.take()
    #expect(first.map(\.hex) == [row.units])
    #expect(first.map(\.integrity) == [.damaged])

    bench.push(next, at: 6000, marker: true)
    let second = bench.take()
    #expect(second.map(\.hex) == [[next]])
    #expect(second.map(\.integrity) == [.whole])
  }
}
