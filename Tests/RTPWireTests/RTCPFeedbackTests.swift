import NIOCore
import TestSupport
import Testing

@testable import RTPWire

@Suite struct RTCPFeedbackTests {
  /// The messages and their bytes by RFC 4585 §6.1, §6.2.1, §6.3.1 and RFC 5104 §4.3.1.1.
  static let vectors: [(message: RTCPFeedback, bytes: String)] = [
    (
      .genericNACK(
        media: 0x0A0B_0C0D,
        [
          RTCPFeedback.LostPackets(first: SequenceNumber(0xFFFE), mask: 0x8001),
          RTCPFeedback.LostPackets(first: SequenceNumber(0x0102)),
        ]),
      "81cd0004 01020304 0a0b0c0d fffe8001 01020000"
    ),
    (.pictureLossIndication(media: 0x0A0B_0C0D), "81ce0002 01020304 0a0b0c0d"),
    (
      .fullIntraRequest([RTCPFeedback.IntraRequest(ssrc: 0x0A0B_0C0D, number: 0xFE)]),
      "84ce0004 01020304 00000000 0a0b0c0d fe000000"
    ),
  ]

  @Test(arguments: vectors.indices)
  func messagesAreWrittenAndRead(index: Int) throws {
    let vector = Self.vectors[index]
    var buffer = ByteBuffer()
    buffer.writeFeedback(vector.message, from: 0x0102_0304)
    #expect(Array(buffer.readableBytesView) == bytes(vector.bytes))
    for delivery in deliveries(of: bytes(vector.bytes)) {
      #expect(
        try RTCPPacket.parse(compound: delivery) == [
          .feedback(vector.message, sender: 0x0102_0304)
        ])
    }
  }

  @Test func anEntryNamesSeventeenPackets() {
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_530), mask: 0xFFFF)
    #expect(entry.numbers.map(\.rawValue) == (0..<17).map { 65_530 &+ UInt16($0) })
    #expect(RTCPFeedback.LostPackets(first: SequenceNumber(3)).numbers == [SequenceNumber(3)])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func whatIsMissingIsNamedOnceAndInFewEntries(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    let missing = (65_000..<66_000 as Range<Int64>).filter { _ in
      Int.random(in: 0..<100, using: &noise) < Int(seed) * 5
    }
    let entries = RTCPFeedback.entries(of: missing)
    #expect(
      entries.flatMap(\.numbers).map(\.rawValue)
        == missing.map { UInt16(truncatingIfNeeded: $0) })
    for (one, other) in zip(entries, entries.dropFirst()) {
      #expect(one.first.distance(to: other.first) > 16)
    }
  }

  @Test(
    "feedback that is cut short is passed over, and that of other kinds",
    arguments: [
      "81cd0000", "81cd0001 01020304", "81cd0002 01020304 0a0b0c0d", "81ce0000",
      "81ce0001 01020304", "84ce0002 01020304 00000000", "84ce0003 01020304 00000000 0a0b0c0d",
      "8fcd0000", "82cd0001 01020304", "8fce0000", "82ce0002 01020304 0a0b0c0d",
    ])
  func others(text: String) throws {
    for delivery in deliveries(of: bytes(text)) {
      #expect(try RTCPPacket.parse(compound: delivery) == [.other(type: bytes(text)[1])])
    }
  }

  @Test func theLongestMessageIsBounded() throws {
    var buffer = ByteBuffer()
    buffer.writeMultipleIntegers(UInt8(0x81), UInt8(205), UInt16(16_000), UInt32(1), UInt32(2))
    buffer.writeRepeatingByte(0xFF, count: 4 * 16_000 - 8)
    let packets = try RTCPPacket.parse(compound: buffer)
    guard case .feedback(.genericNACK(_, let entries), _) = packets.first else {
      Issue.record("no NACK")
      return
    }
    #expect(entries.count == 15_998)
  }

  // MARK: Retransmission packets

  /// But for its padding (RFC 4588 §4).
  @Test(arguments: [UInt8(0), 4])
  func aPacketComesOutOfItsRetransmissionAsItWas(padding: UInt8) throws {
    let original = try RedundancyTests.packet([0x65, 1, 2, 3], padding: padding)
    let bytes = original.retransmission(
      payloadType: 97, ssrc: 0xB, sequenceNumber: SequenceNumber(500))
    let packet = try RTPPacket(parsing: bytes)
    #expect(packet.payloadType == 97)
    #expect(packet.ssrc == 0xB)
    #expect(packet.sequenceNumber == SequenceNumber(500))
    #expect(packet.payload == ByteBuffer(bytes: [0, 7, 0x65, 1, 2, 3]))
    let again = packet.original(payloadType: 98, ssrc: original.ssrc)
    #expect(again?.bytes == (try RedundancyTests.packet([0x65, 1, 2, 3])).bytes)
  }

  @Test(arguments: [[], [1]] as [[UInt8]])
  func withoutANumberThereIsNoOriginal(payload: [UInt8]) throws {
    for padding in [UInt8(0), 4] {
      let packet = try RedundancyTests.packet(payload, padding: padding)
      #expect(packet.original(payloadType: 96, ssrc: 1) == nil)
    }
  }

  @Test func anOriginalMayBeEmpty() throws {
    let original = try RedundancyTests.packet([0, 9]).original(payloadType: 96, ssrc: 1)
    #expect(original?.payloadLength == 0)
    #expect(original?.sequenceNumber == SequenceNumber(9))
  }
}
