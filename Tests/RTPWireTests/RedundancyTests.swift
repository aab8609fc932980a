import NIOCore
import RTPWire
import Testing

/// RED packets (RFC 2198 §3) and what is in them.
struct RedundancyTests {
  /// An RTP packet of type 98 with `payload`, and `padding` bytes of padding.
  static func packet(_ payload: [UInt8], padding: UInt8 = 0) throws -> RTPPacket {
    var bytes = ByteBuffer(
      bytes: [padding > 0 ? 0xB1 : 0x91, 0x80 | 98, 0, 7, 0, 0, 0, 9, 0, 0, 0, 2])
    // A contributing source and an extension of one word.
    bytes.writeBytes([1, 2, 3, 4, 0xBE, 0xDE, 0, 1, 0x10, 5, 0, 0])
    bytes.writeBytes(payload)
    if padding > 0 {
      bytes.writeRepeatingByte(0, count: Int(padding) - 1)
      bytes.writeInteger(padding)
    }
    return try RTPPacket(parsing: bytes)
  }

  @Test(arguments: [UInt8(0), 4])
  func aPrimaryEncodingAlone(padding: UInt8) throws {
    let red = try Self.packet([96, 0x65, 1, 2, 3], padding: padding)
    let packet = try #require(red.primaryEncoding)
    #expect(packet.payloadType == 96)
    #expect(packet.marker)
    #expect(packet.sequenceNumber == red.sequenceNumber)
    #expect(packet.timestamp == 9)
    #expect(packet.ssrc == 2)
    #expect(packet.contributingSources == [0x0102_0304])
    #expect(packet.extensionData == red.extensionData)
    #expect(packet.payload == ByteBuffer(bytes: [0x65, 1, 2, 3]))
    #expect(packet.paddingLength == Int(padding))
    #expect(packet.bytes.readableBytes == red.bytes.readableBytes - 1)
  }

  @Test func redundantEncodingsArePassedOver() throws {
    // Two bytes of type 5 and one of type 6, each after a header of four bytes, then type 97.
    let payload: [UInt8] = [0x85, 0, 0, 2, 0x86, 0, 0, 1, 97, 0xA, 0xA, 0xB, 1, 2]
    let packet = try #require(try Self.packet(payload).primaryEncoding)
    #expect(packet.payloadType == 97)
    #expect(packet.payload == ByteBuffer(bytes: [1, 2]))
  }

  @Test(
    "what is cut short or reaches too far is no packet",
    arguments: [
      [], [0x85], [0x85, 0, 0, 2], [0x85, 0, 0, 2, 97], [0x85, 0, 0, 2, 97, 1],
      [0x85, 3, 0xFF, 0xFF, 97, 0, 0, 0], [UInt8](repeating: 0xFF, count: 1200),
    ] as [[UInt8]])
  func broken(payload: [UInt8]) throws {
    #expect(try Self.packet(payload).primaryEncoding == nil)
  }

  @Test func aPrimaryEncodingMayBeEmpty() throws {
    #expect(try Self.packet([96]).primaryEncoding?.payloadLength == 0)
  }
}
