import Testing

@testable import Transports

struct MergedDatagramsTests {
  @Test(arguments: [
    (length: 1200, segment: 0, parts: [0..<1200]),
    (length: 1200, segment: 1200, parts: [0..<1200]),
    (length: 3000, segment: 1200, parts: [0..<1200, 1200..<2400, 2400..<3000]),
    (length: 2400, segment: 1200, parts: [0..<1200, 1200..<2400]),
    (length: 100, segment: 1200, parts: [0..<100]),
    (length: 0, segment: 0, parts: [0..<0]),
    (length: 0, segment: 1200, parts: [0..<0]),
    (length: 3, segment: -1, parts: [0..<3]),
  ])
  func datagramsStandOneAfterTheOther(length: Int, segment: Int, parts: [Range<Int>]) {
    #expect(Array(MergedDatagrams(length: length, segment: segment)) == parts)
  }
}
