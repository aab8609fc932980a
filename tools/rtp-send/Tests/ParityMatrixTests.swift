import NIOCore
import RTPWire
import Testing

@testable import RTPSend

@Suite struct ParityMatrixTests {
  /// By hand: two columns and two rows, then one packet more.
  @Test func rowsFollowThemselvesAndColumnsTheMatrix() throws {
    let size = try #require(PacketFeed.MatrixCorrection(columns: 2, rows: 2))
    var matrix = ParityMatrix(size)
    let media = (0..<5 as Range<UInt8>).map { index in
      var packet = ByteBuffer()
      packet.writeMultipleIntegers(
        UInt8(0x80), UInt8(96 | (index == 1 ? 0x80 : 0)), 0xFFFF &+ UInt16(index),
        UInt32(1) << index,
        UInt32(7))
      packet.writeBytes([UInt8](repeating: 1 << index, count: 1 + Int(index)))
      return packet
    }
    let sent = media.map { matrix.add($0) } + [matrix.finish()]
    #expect(
      sent.map { $0.map(\.portOffset) } == [[], [4], [], [4, 2, 2], [], [4, 2]])

    func correction(
      _ flags: (UInt8, UInt8), _ number: UInt8, time: UInt8, base: [UInt8], length: UInt8,
      type: UInt8, parity: UInt8, shape: [UInt8], _ bytes: [UInt8]
    ) -> ByteBuffer {
      let head: [UInt8] = [flags.0, flags.1, 0, number, 0, 0, 0, time, 0, 0, 0, 0] + base
      return ByteBuffer(
        bytes: head + [0, length, type, 0, 0, 0, 0, 0, 0, parity] + shape + [0] + bytes)
    }
    let packets = sent.flatMap { $0 }.map(\.bytes)
    #expect(
      packets[0]
        == correction(
          (0x80, 0xE0), 0, time: 2, base: [0xFF, 0xFF], length: 3, type: 0x80, parity: 3,
          shape: [0x40, 1, 2], [3, 2]))
    #expect(
      packets[2]
        == correction(
          (0x80, 0x60), 0, time: 4, base: [0xFF, 0xFF], length: 2, type: 0x80, parity: 5,
          shape: [0, 2, 2], [5, 4, 4]))
    #expect(
      packets[4]
        == correction(
          (0x80, 0x60), 2, time: 16, base: [0, 3], length: 5, type: 0xE0, parity: 16,
          shape: [0x40, 1, 1], [16, 16, 16, 16, 16]))
  }

  @Test func noLineReachesAcrossAJump() throws {
    let size = try #require(PacketFeed.MatrixCorrection(columns: 3, rows: 2))
    var matrix = ParityMatrix(size)
    func packet(_ number: UInt16) -> ByteBuffer {
      var packet = ByteBuffer()
      packet.writeMultipleIntegers(UInt8(0x80), UInt8(96), number, UInt32(0), UInt32(7))
      return packet
    }
    let sent = [5, 6, 9, 10, 11].map { matrix.add(packet($0)) }
    #expect(sent.map { $0.map(\.portOffset) } == [[], [], [4, 2, 2], [], [4]])
    let bases = sent.flatMap { $0 }.map { $0.bytes.getInteger(at: 12, as: UInt16.self) }
    #expect(bases == [5, 5, 6, 9])
  }

  @Test(arguments: [(0, 5), (5, 0), (21, 5), (5, 21), (-1, 5)])
  func sizesOfTheStandardAlone(columns: Int, rows: Int) {
    #expect(PacketFeed.MatrixCorrection(columns: columns, rows: rows) == nil)
  }
}
