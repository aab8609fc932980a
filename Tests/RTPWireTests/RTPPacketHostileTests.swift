import NIOCore
import RTPWire
import TestSupport
import Testing

/// What `RTPPacket` must make of a header, worked out from RFC 3550 §5.1 in another way.
private func isWellFormed(_ packet: [UInt8]) -> Bool {
  guard packet.count >= 12, packet[0] & 0xC0 == 0x80 else { return false }
  var rest = packet.dropFirst(12)
  let sources = 4 * Int(packet[0] & 0x0F)
  guard rest.count >= sources else { return false }
  rest = rest.dropFirst(sources)
  if packet[0] & 0x10 != 0 {
    let header = Array(rest.prefix(4))
    guard header.count == 4 else { return false }
    let length = 4 * (Int(header[2]) * 256 + Int(header[3]))
    guard rest.count >= 4 + length else { return false }
    rest = rest.dropFirst(4 + length)
  }
  if packet[0] & 0x20 != 0 {
    guard let count = rest.last, count > 0, Int(count) <= rest.count else { return false }
  }
  return true
}

/// Parses `packet` as every transport may deliver it and reads all that it offers.
private func isAccepted(_ packet: [UInt8]) -> Bool {
  var verdicts: Set<Bool> = []
  for delivery in deliveries(of: packet) {
    guard let parsed = try? RTPPacket(parsing: delivery) else {
      verdicts.insert(false)
      continue
    }
    verdicts.insert(true)
    let extensionLength =
      parsed.extensionProfile == nil ? 0 : parsed.extensionData.readableBytes + 4
    #expect(
      12 + 4 * parsed.contributingSources.count + extensionLength + parsed.payload.readableBytes
        + parsed.paddingLength == packet.count)
  }
  #expect(verdicts.count == 1, "the place in the buffer must not matter")
  return verdicts == [true]
}

@Suite struct RTPPacketHostileTests {
  @Test(arguments: 0...11)
  func aDatagramShorterThanTheHeaderIsRefused(length: Int) {
    var noise = SeededGenerator(seed: UInt64(length))
    var packets = [[UInt8](repeating: 0, count: length), [UInt8](repeating: 0xFF, count: length)]
    for _ in 0..<50 {
      var random = noise.bytes(length)
      packets.append(random)
      if length > 0 { random[0] = 0x80 | (random[0] & 0x3F) }
      packets.append(random)
    }
    for packet in packets {
      for delivery in deliveries(of: packet) {
        #expect(throws: RTPPacketError.truncatedHeader(needed: 12, available: length)) {
          try RTPPacket(parsing: delivery)
        }
      }
    }
  }

  @Test(arguments: 0...15)
  func contributingSourcesPastTheEndAreRefused(count: Int) {
    for length in 12...80 {
      let packet = [UInt8(0x80 | count)] + [UInt8](repeating: 0x60, count: length - 1)
      #expect(isAccepted(packet) == (12 + 4 * count <= length))
    }
  }

  @Test(arguments: [0, 1, 0x3FFF, 0x4000, 0xFFFF])
  func anExtensionPastTheEndIsRefused(words: Int) {
    for length in Array(12...64) + [1499, 1500] {
      var packet = [UInt8](repeating: 0x60, count: length)
      packet[0] = 0x90
      if length >= 16 {
        packet[14] = UInt8(words >> 8)
        packet[15] = UInt8(words & 0xFF)
        #expect(isAccepted(packet) == (16 + 4 * words <= length))
        packet[0] = 0xB0
        packet[length - 1] = 1
        #expect(isAccepted(packet) == isWellFormed(packet))
      } else {
        #expect(!isAccepted(packet))
      }
    }
  }

  @Test func theLargestExtensionIsRead() throws {
    let packet =
      [0x90] + [UInt8](repeating: 0x60, count: 13) + [0xFF, 0xFF]
      + [UInt8](repeating: 0, count: 4 * 0xFFFF) + [0x65]
    let parsed = try RTPPacket(parsing: ByteBuffer(bytes: packet))
    #expect(parsed.extensionData.readableBytes == 4 * 0xFFFF)
    #expect(Array(buffer: parsed.payload) == [0x65])
  }

  @Test(arguments: [0, 1, 2, 7, 100, 255])
  func paddingMustFitBehindTheHeader(payloadLength: Int) {
    for count in Set([0, 1, payloadLength, payloadLength + 1, 255]) where count <= 255 {
      for first in [UInt8(0xA0), 0xA2, 0xB0] {
        var packet: [UInt8] = [first, 0x60] + [UInt8](repeating: 0, count: 10)
        if first == 0xA2 { packet += [UInt8](repeating: 1, count: 8) }
        if first == 0xB0 { packet += [0xBE, 0xDE, 0, 0] }
        packet += [UInt8](repeating: 0x5A, count: payloadLength)
        if payloadLength > 0 { packet[packet.count - 1] = UInt8(count) }
        let expected = payloadLength > 0 && count > 0 && count <= payloadLength
        #expect(isAccepted(packet) == expected)
      }
    }
  }

  @Test func aPacketOfPaddingAloneIsValidAndEmpty() throws {
    let packet = try RTPPacket(
      parsing: ByteBuffer(bytes: bytes("a060 0001 00000002 00000003 000003")))
    #expect(packet.payloadLength == 0)
    #expect(packet.paddingLength == 3)
    #expect(packet.payload.readableBytes == 0)
  }

  @Test func noiseIsReadAsTheStandardSays() {
    var noise = SeededGenerator(seed: 3550)
    for round in 0..<2_000 {
      var packet = noise.bytes(Int.random(in: 0...96, using: &noise))
      // Most noise fails at the version, so let most of it pass.
      if round % 4 != 0, !packet.isEmpty { packet[0] = 0x80 | (packet[0] & 0x3F) }
      if round % 2 == 0, packet.count > 16, packet[0] & 0x1F == 0x10 {
        packet[14] = 0
        packet[15] &= 0x1F
      }
      #expect(isAccepted(packet) == isWellFormed(packet))
    }
  }
}
