import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Correction packets among media packets, as libwebrtc and GStreamer number them.
struct CorrectionTests {
  /// Groups of `size` packets, each followed by a correction packet.
  static func groups(_ count: Int, of size: Int, seed: UInt64) -> CorrectedStream {
    var stream = CorrectedStream(seed: seed)
    for group in 0..<count {
      let timestamp = UInt32(group) * 3000
      let media = stream.sendMedia(size, timestamp: timestamp)
      stream.sendCorrection(
        [.init(packets: media, length: media.longest)], timestamp: timestamp)
    }
    return stream
  }

  /// The output is bit for bit what was sent, and nothing else, in order.
  static func expectExact(_ session: VirtualSession, _ sent: [ByteBuffer]) {
    let media = sent.filter(CorrectedStream.isMedia)
    let known = Set(media)
    #expect(session.deliveries.allSatisfy { known.contains($0.packet.packet.bytes) })
    let numbers = session.deliveries.map(\.packet.extendedSequence)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("without loss nothing is held, rebuilt or missing")
  func lossless() {
    let stream = Self.groups(20, of: 5, seed: 1)
    let session = played(stream.packets)
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.reportedLosses.isEmpty)
    #expect(session.statistics.correction == 20)
    #expect(session.statistics.recovered == 0)
    #expect(session.statistics.lost == 0)
  }

  @Test("any packet of a group comes back at once", arguments: 0..<6)
  func anyPacketOfAGroup(place: Int) throws {
    let stream = Self.groups(40, of: 5, seed: UInt64(place) + 2)
    // In a group far enough in that the sender is known to protect everything.
    let lost = 30 * 6 + place
    var packets = stream.packets
    packets.remove(at: lost)
    let session = played(packets)
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.reportedLosses.isEmpty)
    #expect(session.statistics.lost == 0)
    #expect(session.statistics.recovered == (place < 5 ? 1 : 0))
    #expect(session.statistics.unneeded == (place < 5 ? 0 : 1))
    #expect(session.statistics.errorCorrection.rebuilt == (place < 5 ? 1 : 0))
    #expect(session.statistics.errorCorrection.lost == (place < 5 ? 0 : 1))
    let slowest = try #require(
      session.deliveries.map { $0.packet.arrival.nanoseconds(to: $0.time) }.max())
    #expect(slowest <= 6_000_000)
  }

  /// Groups of nine packets, and behind each three that protect three of them.
  private static func widerGroups(_ count: Int) -> CorrectedStream {
    var stream = CorrectedStream(seed: 11)
    for group in 0..<count {
      let timestamp = UInt32(group) * 3000
      let media = stream.sendMedia(9, timestamp: timestamp)
      for part in 0..<3 {
        let protected = Array(media[3 * part..<3 * part + 3])
        stream.sendCorrection(
          [.init(packets: protected, length: protected.longest)], timestamp: timestamp)
      }
    }
    return stream
  }

  @Test("lost correction packets of a run are no loss, however many", arguments: 1..<8)
  func severalCorrectionPacketsOfARun(mask: Int) {
    let stream = Self.widerGroups(40)
    var packets = stream.packets
    for part in (0..<3).reversed() where mask & 1 << part != 0 {
      packets.remove(at: 30 * 12 + 9 + part)
    }
    let session = played(packets)
    Self.expectExact(session, stream.packets)
    #expect(session.deliveries.count == 360)
    #expect(session.reportedLosses.isEmpty)
    #expect(session.statistics.unneeded == UInt64(mask.nonzeroBitCount))
  }

  /// Nothing tells a picture of one packet from a correction packet, where both are lost.
  @Test func aLostPictureIsNotTakenForACorrectionPacket() {
    var stream = CorrectedStream(seed: 12)
    for group in 0..<40 {
      let media = (0..<2).flatMap {
        stream.sendMedia(1, timestamp: UInt32(2 * group + $0) * 3000)
      }
      stream.sendCorrection(
        [.init(packets: media, length: media.longest)], timestamp: UInt32(2 * group + 1) * 3000)
    }
    var packets = stream.packets
    packets.removeSubrange(91...92)
    let session = played(packets)
    #expect(session.statistics.lost > 0)
    #expect(!session.reportedLosses.isEmpty)
  }

  /// As browsers send them: RED around media and correction packets alike.
  @Test func correctionInRED() throws {
    let stream = Self.groups(40, of: 5, seed: 8)
    var packets = try stream.packets.map { packet in
      let parsed = try RTPPacket(parsing: packet)
      let header = packet.readableBytes - parsed.payloadLength - parsed.paddingLength
      var red = ByteBuffer(bytes: packet.readableBytesView.prefix(header))
      let type: UInt8 = packet.getInteger(at: packet.readerIndex + 1) ?? 0
      red.setInteger(type & 0x80 | 98, at: red.readerIndex + 1)
      red.writeInteger(type & 0x7F)
      red.writeBytes(packet.readableBytesView.dropFirst(header))
      return red
    }
    packets.remove(at: 185)
    packets.remove(at: 123)
    let session = played(packets, redundancyPayloadType: 98)
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
    #expect(session.statistics.recovered == 1)
    #expect(session.statistics.unneeded == 1)
  }

  @Test("a report counts what the network lost, not what was rebuilt")
  func reportsCountTheNetwork() throws {
    let stream = Self.groups(10, of: 5, seed: 9)
    var packets = stream.packets
    packets.remove(at: 20)
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    configuration.correctionFormats = [97: .ulpfec]
    var session = VirtualSession(configuration: configuration, isEntryPoint: { _ in true })
    for packet in packets { session.receive(packet) }
    let reception = try #require(session.processor.reception)
    #expect(reception.expected == 60)
    #expect(reception.received == 59)
    #expect(session.statistics.recovered == 1)
  }

  @Test("the first packet of a stream may be a correction packet")
  func beginsWithACorrectionPacket() {
    let stream = Self.groups(10, of: 5, seed: 3)
    let session = played(Array(stream.packets.dropFirst(5)))
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.dropFirst(5).filter(CorrectedStream.isMedia))
    #expect(session.statistics.lost == 0)
  }

  @Test("a loss among the very first packets is mended once the source has proved itself")
  func lossOnProbation() {
    let stream = Self.groups(4, of: 5, seed: 4)
    var packets = stream.packets
    packets.remove(at: 1)
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = 96
    configuration.correctionFormats = [97: .ulpfec]
    var session = VirtualSession(configuration: configuration)
    for packet in packets { session.receive(packet) }
    session.run(for: .seconds(1))
    #expect(
      session.deliveries.map(\.packet.packet.bytes)
        == stream.packets.filter(CorrectedStream.isMedia))
  }

  /// GStreamer's sender leaves small pictures out below 100 %: then a gap may be media.
  @Test("a gap counts as lost where the sender does not protect everything")
  func gapsOfPartialProtection() {
    var stream = CorrectedStream(seed: 5)
    var unprotected: Set<Int> = []
    for group in 0..<60 {
      let timestamp = UInt32(group) * 3000
      let media = stream.sendMedia(5, timestamp: timestamp)
      if group.isMultiple(of: 3) {
        unprotected.insert(stream.packets.count - 1)
      } else {
        stream.sendCorrection([.init(packets: media, length: media.longest)], timestamp: timestamp)
      }
    }
    let lost = unprotected.max() ?? 0
    var packets = stream.packets
    packets.remove(at: lost)
    let session = played(packets)
    #expect(session.statistics.lost == 1)
    #expect(session.statistics.unneeded == 0)
    Self.expectExact(session, stream.packets)
  }

  @Test("two lost packets of a group stay lost, and so do a packet and its correction packet")
  func moreThanTheGroupCanBear() {
    for pair in [(0, 1), (4, 5)] {
      let stream = Self.groups(40, of: 5, seed: 6)
      var packets = stream.packets
      packets.remove(at: 180 + pair.1)
      packets.remove(at: 180 + pair.0)
      let session = played(packets)
      Self.expectExact(session, stream.packets)
      #expect(session.statistics.lost > 0)
      #expect(session.deliveries.count == (pair.1 == 5 ? 199 : 198))
      #expect(!session.reportedLosses.isEmpty)
    }
  }

  /// One correction packet an overhead of 20 %, one packet in a hundred lost.
  @Test(arguments: UInt64(1)...10)
  func aPercentOfLossAtAFifthOfOverhead(seed: UInt64) {
    let stream = Self.groups(600, of: 5, seed: seed)
    var noise = SeededGenerator(seed: seed &* 977)
    var isFirst = true
    let packets = stream.packets.filter { _ in
      defer { isFirst = false }
      return isFirst || noise.integer(below: 100) > 0
    }
    let session = played(packets)
    Self.expectExact(session, stream.packets)
    #expect(stream.packets.count - packets.count > 15)
    #expect(session.deliveries.count >= 2970)
    // Few gaps are left: most were closed, or were those of correction packets.
    #expect(session.reportedLosses.count <= 12)
  }
}
