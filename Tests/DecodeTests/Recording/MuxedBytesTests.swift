import NIOCore
import TestSupport
import Testing

@testable import Outputs

@Suite struct MuxedBytesTests {
  @Test("whatever is written where, the records make the same file", arguments: UInt64(0)..<50)
  func anything(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var bytes = MuxedBytes()
    var expected: [UInt8] = []
    var position = 0
    var disk: [UInt8] = []
    for _ in 0..<200 {
      switch generator.integer(below: 4) {
      case 0:
        position = generator.integer(below: expected.count + 1)
        let isThere = bytes.seek(to: position)
        #expect(isThere)
      case 1: apply(bytes.take(), to: &disk)
      default:
        let piece = generator.bytes(generator.integer(below: 40))
        unsafe piece.withUnsafeBytes { unsafe bytes.write($0) }
        let overlap = min(piece.count, expected.count - position)
        expected.replaceSubrange(position..<position + overlap, with: piece)
        position += piece.count
      }
    }
    apply(bytes.take(), to: &disk)
    #expect(disk == expected)
    #expect(bytes.length == expected.count)
    let rest = bytes.take()
    #expect(rest == nil)
    let isBeyond = bytes.seek(to: expected.count + 1) || bytes.seek(to: -1)
    #expect(!isBeyond)
  }

  private func apply(_ record: OutputRecord?, to disk: inout [UInt8]) {
    for case .bytes(let piece) in record?.pieces ?? [] { disk += piece.readableBytesView }
    for patch in record?.patches ?? [] {
      let new = Array(patch.bytes.readableBytesView)
      disk.replaceSubrange(patch.offset..<patch.offset + new.count, with: new)
    }
  }

  @Test("no bytes make the search for the header trap", arguments: UInt64(0)..<200)
  func headers(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var bytes = generator.bytes(generator.integer(below: 200))
    for name in ["moov", "mvhd"] where bytes.count > 30 {
      let place = generator.integer(below: 20)
      bytes.replaceSubrange(place..<place + 4, with: Array(name.utf8))
    }
    if let header = MovieHeader(in: ByteBuffer(bytes: bytes)) {
      #expect(header.offset + (header.isLong ? 8 : 4) <= bytes.count)
      _ = header.patch(duration: .infinity)
      _ = header.patch(duration: -1)
    }
    let names = [("RIFF", 0), ("WAVE", 8), ("data", 12 + generator.integer(below: 20))]
    for (name, place) in names where bytes.count > 40 {
      bytes.replaceSubrange(place..<place + 4, with: Array(name.utf8))
    }
    guard let header = WaveHeader(in: ByteBuffer(bytes: bytes)) else { return }
    #expect((20...bytes.count).contains(header.length))
    for count in [0, header.length, .max] { _ = header.patches(byteCount: count) }
  }
}
