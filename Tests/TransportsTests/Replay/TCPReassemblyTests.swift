import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// A direction of a connection as captures show it.
struct TCPReassemblyTests {
  private static let stream = ByteBuffer(
    bytes: (0..<5000).map { UInt8(truncatingIfNeeded: $0 / 7) })
  private static let start: UInt32 = .max - 1000

  private static func segment(_ range: Range<Int>) -> TCPSegment {
    TCPSegment(
      sourcePort: 1, destinationPort: 2,
      sequenceNumber: start &+ UInt32(range.lowerBound),
      payload: stream.getSlice(at: range.lowerBound, length: range.count) ?? ByteBuffer())
  }

  private static func play(
    _ segments: [TCPSegment], millisecondsApart: Int64 = 1
  ) -> (bytes: ByteBuffer, reassembly: TCPReassembly) {
    var reassembly = TCPReassembly()
    var bytes = ByteBuffer()
    for (index, segment) in segments.enumerated() {
      _ = reassembly.receive(segment, at: Int64(index) * millisecondsApart * 1_000_000)
      while var next = reassembly.nextBytes() { bytes.writeBuffer(&next) }
    }
    reassembly.finish()
    while var next = reassembly.nextBytes() { bytes.writeBuffer(&next) }
    return (bytes, reassembly)
  }

  /// Over the wrap of the sequence numbers.
  @Test func whateverTheOrderTheRepetitionsAndTheOverlaps() {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<300 {
      var ranges: [Range<Int>] = []
      var position = 0
      while position < Self.stream.readableBytes {
        let end = min(
          position + Int.random(in: 1...900, using: &random), Self.stream.readableBytes)
        ranges.append(position..<end)
        // Sent again with other borders.
        if Bool.random(using: &random) {
          let from = Int.random(in: max(0, position - 500)...position, using: &random)
          ranges.append(from..<Int.random(in: from + 1...end, using: &random))
        }
        position = end
      }
      // Neighbours are swapped; the first one stays, because it shows where the stream begins.
      for index in ranges.indices.dropFirst().dropLast() where Bool.random(using: &random) {
        ranges.swapAt(index, index + 1)
      }
      let (bytes, reassembly) = Self.play(ranges.map(Self.segment))
      #expect(bytes == Self.stream)
      #expect(reassembly.holes == 0)
    }
  }

  @Test func whatWasNotRecordedIsSkippedAtTheEnd() {
    let (bytes, reassembly) = Self.play([0..<100, 300..<400, 350..<500].map(Self.segment))
    #expect(bytes.readableBytes == 300)
    #expect(reassembly.holes == 1)
    #expect(reassembly.missingBytes == 200)
  }

  @Test func aHoleIsWaitedForNoLongerThanTwoSeconds() {
    var reassembly = TCPReassembly()
    _ = reassembly.receive(Self.segment(0..<100), at: 0)
    #expect(reassembly.nextBytes() != nil)
    #expect(reassembly.receive(Self.segment(200..<300), at: 1_000_000_000) == .parked)
    #expect(reassembly.nextBytes() == nil)
    _ = reassembly.receive(Self.segment(300..<310), at: 3_000_000_001)
    #expect(reassembly.nextBytes()?.readableBytes == 100)
    #expect(reassembly.holes == 1)
    // What comes for the hole afterwards is late.
    #expect(reassembly.receive(Self.segment(100..<200), at: 3_000_000_002) == .retransmission)
  }

  /// Every fifth segment is sent again 400 ms later, when the next one is already missing.
  @Test func eachHoleIsWaitedForOnItsOwn() {
    let ranges = stride(from: 0, to: 5000, by: 50).map { $0..<$0 + 50 }
    var sent = ranges.enumerated().map { index, range in
      (time: index * 50 + (index % 5 == 4 ? 400 : 0), range: range)
    }
    sent.sort { ($0.time, $0.range.lowerBound) < ($1.time, $1.range.lowerBound) }
    let (bytes, reassembly) = Self.play(sent.map { Self.segment($0.range) }, millisecondsApart: 50)
    #expect(bytes == Self.stream)
    #expect(reassembly.holes == 0)
  }

  @Test func whatWaitsBehindAHoleHasABound() {
    var reassembly = TCPReassembly()
    let payload = ByteBuffer(repeating: 0, count: 60_000)
    var out = 0
    for index in 0..<100 {
      let number = index == 0 ? 0 : UInt32(index * 60_000 + 1)
      _ = reassembly.receive(
        TCPSegment(sourcePort: 1, destinationPort: 2, sequenceNumber: number, payload: payload),
        at: 0)
      while let bytes = reassembly.nextBytes() { out += bytes.readableBytes }
      #expect(index * 60_000 + 60_000 - out <= TCPReassembly.maximumBytes + 60_000)
    }
    #expect(reassembly.holes == 1)
  }

  @Test func portsThatAreUsedAgainBeginAnew() {
    var reassembly = TCPReassembly()
    _ = reassembly.receive(Self.segment(0..<10), at: 0)
    #expect(reassembly.nextBytes() != nil)
    let again = TCPSegment(
      sourcePort: 1, destinationPort: 2, sequenceNumber: 77, isSynchronizing: true,
      payload: ByteBuffer())
    #expect(reassembly.receive(again, at: 1) == .empty)
    // What was cut is not continued by the next connection.
    let piece = reassembly.nextPiece()
    #expect(piece == .hole && reassembly.holes == 0)
    let first = TCPSegment(
      sourcePort: 1, destinationPort: 2, sequenceNumber: 78, payload: ByteBuffer(string: "RTSP"))
    #expect(reassembly.receive(first, at: 2) == .inOrder)
    #expect(reassembly.nextBytes() == ByteBuffer(string: "RTSP"))
  }
}

extension TCPReassembly {
  /// The next bytes, whatever is missing in front of them.
  fileprivate mutating func nextBytes() -> ByteBuffer? {
    while let piece = nextPiece() {
      if case .bytes(let bytes) = piece { return bytes }
    }
    return nil
  }
}
