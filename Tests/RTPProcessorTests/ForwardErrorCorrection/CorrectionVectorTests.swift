import NIOCore
import RTPWire
import Testing

@testable import RTPProcessor

/// After the examples of RFC 5109 §10: its packets, and the header that they come to.
struct CorrectionVectorTests {
  /// Four media packets as in both examples: 200, 140, 100 and 340 bytes after the header.
  static let media: [ByteBuffer] = {
    let rows: [(type: UInt8, timestamp: UInt32, length: Int)] = [
      (11, 3, 200), (18 | 0x80, 5, 140), (11 | 0x80, 7, 100), (18, 9, 340),
    ]
    return rows.enumerated().map { index, row in
      var packet = ByteBuffer()
      packet.writeMultipleIntegers(
        UInt8(0x80), row.type, UInt16(8 + index), row.timestamp, UInt32(2))
      packet.writeBytes((0..<row.length).map { UInt8(truncatingIfNeeded: $0 * 7 + index * 31) })
      return packet
    }
  }()

  static func correction(_ payload: ByteBuffer, sequence: UInt16) throws -> RTPPacket {
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(UInt8(0x80), UInt8(127), sequence, UInt32(9), UInt32(2))
    packet.writeImmutableBuffer(payload)
    return try RTPPacket(parsing: packet)
  }

  static func parity(_ packets: [ByteBuffer], from start: Int, length: Int) -> [UInt8] {
    (0..<length).map { place in
      packets.reduce(0) { $0 ^ ($1.getInteger(at: $1.readerIndex + 12 + start + place) ?? 0) }
    }
  }

  /// The packets rebuilt when all of `media` but `lost` come, followed by the payloads.
  static func rebuilt(_ lost: Set<Int>, with payloads: [ByteBuffer]) throws -> [ByteBuffer] {
    var correction = ForwardErrorCorrection(
      with: try RTPPacket(parsing: media[0]), payloadType: nil, clockRate: 90_000)
    var statistics = ForwardErrorCorrectionStatistics()
    for index in media.indices where !lost.contains(index) {
      correction.receive(media: try RTPPacket(parsing: media[index]), statistics: &statistics)
    }
    for (index, payload) in payloads.enumerated() {
      correction.receive(
        ulpfec: try Self.correction(payload, sequence: UInt16(12 + index)),
        statistics: &statistics)
    }
    var found: [ByteBuffer] = []
    while case .rebuilt(let packet)? = correction.next() { found.append(packet.bytes) }
    #expect(statistics.malformed == 0)
    return found
  }

  /// §10.1: M, PT and the timestamps come to 0, 0 and 8, the lengths to 372, the mask to 0xF000.
  @Test(arguments: 0..<4)
  func onePacketProtectsFour(lost: Int) throws {
    var payload = ByteBuffer(bytes: [0x00, 0x00, 0x00, 0x08])
    payload.writeMultipleIntegers(UInt32(8), UInt16(372), UInt16(340), UInt16(0xF000))
    payload.writeBytes(Self.parity(Self.media, from: 0, length: 340))
    #expect(try Self.rebuilt([lost], with: [payload]) == [Self.media[lost]])
    #expect(
      CorrectedStream.payload([.init(packets: Self.media, length: 340)]) == payload)
    #expect(try Self.rebuilt([lost, (lost + 1) % 4], with: [payload]).isEmpty)
  }

  /// §10.2: two packets protect the beginnings of two each, and the second the rest of all four.
  @Test(arguments: 0..<4)
  func unevenLevels(lost: Int) throws {
    let first = CorrectedStream.payload([.init(packets: Array(Self.media[..<2]), length: 70)])
    var second = ByteBuffer()
    second.writeMultipleIntegers(
      // M and PT of C and D: 1 ^ 0, 11 ^ 18; base 8, so that the second level reaches A.
      UInt16(0x0099), UInt16(8), UInt32(7 ^ 9), UInt16(100 ^ 340), UInt16(90), UInt16(0x3000))
    second.writeBytes(Self.parity(Array(Self.media[2...]), from: 0, length: 90))
    second.writeMultipleIntegers(UInt16(270), UInt16(0xF000))
    second.writeBytes(Self.parity(Self.media, from: 90, length: 270))
    let found = try Self.rebuilt([lost], with: [first, second])
    // A and B are known up to byte 70, and again from byte 90 on: only C and D come back whole.
    #expect(found == (lost < 2 ? [] : [Self.media[lost]]))

    let longer = CorrectedStream.payload([.init(packets: Array(Self.media[..<2]), length: 90)])
    #expect(try Self.rebuilt([lost], with: [longer, second]) == [Self.media[lost]])
    // The order does not matter: the second level waits for the first.
    #expect(try Self.rebuilt([lost], with: [second, longer]) == [Self.media[lost]])
  }
}
