import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Whatever is protected how, and whatever comes instead.
struct CorrectionPropertyTests {
  /// Sets of random members, short and long masks, in levels or not: one packet lost in each.
  @Test(arguments: UInt64(1)...30)
  func oneLossInEachSet(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var stream = CorrectedStream(seed: seed)
    var lost: Set<Int> = []
    for group in 0..<20 {
      let timestamp = UInt32(group) * 3000
      let first = stream.packets.count
      let media = stream.sendMedia(2 + noise.integer(below: 40), timestamp: timestamp)
      let ways = 1 + noise.integer(below: 3)
      let members = Dictionary(grouping: media.indices) { _ in noise.integer(below: ways) }
      for way in members.keys.sorted() {
        let indices = members[way, default: []]
        let packets = indices.map { media[$0] }
        let isLong = indices.count > 1 && noise.integer(below: 2) == 0 ? true : nil
        let short = noise.integer(below: packets.longest)
        let levels: [CorrectedStream.Level] =
          short > 0 && noise.integer(below: 2) == 0
          ? [
            .init(packets: packets, length: short),
            .init(packets: packets, length: packets.longest - short),
          ] : [.init(packets: packets, length: packets.longest)]
        stream.sendCorrection(levels, timestamp: timestamp, long: isLong)
        lost.insert(first + indices[noise.integer(below: indices.count)])
      }
    }
    // The first packet of all says where the stream begins.
    lost.remove(0)
    let packets = stream.packets.indices.filter { !lost.contains($0) }.map { stream.packets[$0] }
    let session = played(packets)
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.statistics.recovered == UInt64(lost.count))
  }

  /// Loss, reordering and repetition at once: what comes out was sent.
  @Test(arguments: UInt64(1)...20)
  func neverAWrongPacket(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    let stream = CorrectionTests.groups(100, of: 1 + noise.integer(below: 12), seed: seed)
    var packets: [(place: Int, packet: ByteBuffer)] = []
    for (index, packet) in stream.packets.enumerated() where noise.integer(below: 10) > 0 {
      let place = index + (noise.integer(below: 10) == 0 ? noise.integer(below: 30) : 0)
      packets.append((place, packet))
      if noise.integer(below: 20) == 0 {
        packets.append((place + noise.integer(below: 30), packet))
      }
    }
    packets.sort { $0.place < $1.place }
    let session = played(packets.map(\.packet))
    CorrectionTests.expectExact(session, stream.packets)
    #expect(session.statistics.errorCorrection.implausible == 0)
  }

  /// A correction packet cut at every length, and with every bit of its header turned.
  @Test func everyLengthAndBitOfACorrectionPacket() {
    let stream = CorrectionTests.groups(3, of: 5, seed: 77)
    let correction = stream.packets[11]
    var variants = (12..<correction.readableBytes).map { length in
      correction.getSlice(at: correction.readerIndex, length: length) ?? ByteBuffer()
    }
    for bit in 0..<8 * 16 {
      var packet = correction
      let place = packet.readerIndex + 12 + bit / 8
      let byte: UInt8 = packet.getInteger(at: place) ?? 0
      packet.setInteger(byte ^ (1 << UInt8(bit % 8)), at: place)
      variants.append(packet)
    }
    for variant in variants {
      var packets = stream.packets
      packets[11] = variant
      packets.remove(at: 7)
      let session = played(packets)
      // A wrong parity cannot be told from a right one; but the rest must be unaffected.
      #expect(session.deliveries.count >= 14)
      #expect(session.statistics.errorCorrection.packets == 3)
    }
  }

  /// SeededGenerator under the payload type of correction packets, between media that has gaps.
  @Test(arguments: UInt64(1)...20)
  func noise(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var stream = CorrectedStream(seed: seed)
    _ = stream.sendMedia(400, timestamp: 0)
    var packets: [ByteBuffer] = []
    for packet in stream.packets {
      if noise.integer(below: 5) > 0 {
        packets.append(packet)
        continue
      }
      var correction = ByteBuffer()
      correction.writeMultipleIntegers(
        UInt8(0x80), CorrectedStream.correctionType, CorrectedStream.number(packet), UInt32(0),
        UInt32(0xA), UInt8(truncatingIfNeeded: noise.next()) & 0x7F, CorrectedStream.mediaType)
      // Near the numbers of the stream, so that the mask meets packets.
      correction.writeInteger(CorrectedStream.number(packet) &- UInt16(noise.integer(below: 60)))
      for _ in 0..<noise.integer(below: 200) {
        correction.writeInteger(UInt8(truncatingIfNeeded: noise.next() & noise.next()))
      }
      packets.append(correction)
    }
    let session = played(packets)
    #expect(session.deliveries.count >= packets.count(where: CorrectedStream.isMedia))
    #expect(session.statistics.held == 0)
  }
}
