import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// Clients that join a live stream whose units are sent out of decoding order.
struct InterleavedNewcomerTests {
  /// All packets of a stream of sixty small pictures, of which several share a packet.
  private func packets(
    _ codec: Codec, _ packetization: Packetization, groupLength: Int
  ) throws -> [PacketFeed.Packet] {
    var pattern = PatternConfiguration()
    (pattern.codec, pattern.width, pattern.height) = (codec, 256, 144)
    (pattern.bitRate, pattern.groupLength, pattern.frameLimit) = (200_000, groupLength, 60)
    var configuration = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    configuration.packetization = packetization
    var delivery = try Delivery(
      try PacketFeed(configuration), through: NetworkSimulator(Impairments(), seed: 1),
      pacing: .mediaTime(speed: 1))
    delivery.begin(at: Instant(nanoseconds: 0))
    var packets: [PacketFeed.Packet] = []
    while let deadline = delivery.deadline {
      delivery.step(to: deadline)
      while let packet = delivery.release(by: deadline) { packets.append(packet) }
      try delivery.prepare()
    }
    return packets
  }

  private func units(
    in packets: some Sequence<PacketFeed.Packet>, _ codec: Codec
  ) throws -> [ReferenceDepacketizer.Unit] {
    var reader = ReferenceDepacketizer(codec: codec, isNumbered: true)
    for packet in packets {
      let media = try RTPPacket(parsing: packet.bytes)
      try reader.read(
        RTPPayload(
          bytes: media.payload, ticks: Int64(media.timestamp), marker: media.marker))
    }
    return reader.units
  }

  @Test(
    arguments: [
      (Codec.h264, Packetization.interleaved), (.h264, .mtap16), (.h264, .mtap24),
      (.h265, .interleaved),
    ], [1, 10])
  func aNewcomerGetsAWholeKeyPictureAndWhatFollows(
    mode: (codec: Codec, packetization: Packetization), groupLength: Int
  ) throws {
    let packets = try packets(mode.codec, mode.packetization, groupLength: groupLength)
    let all = try units(in: packets, mode.codec)
    var group = PictureGroup()
    var starts: [Int] = []
    for (index, packet) in packets.enumerated() {
      group.add(packet)
      let start = index + 1 - group.packets.count
      if !group.packets.isEmpty, starts.last != start { starts.append(start) }
    }
    // In a packet of several key pictures the client begins with the last of them.
    let keys = Set(
      all.filter { mode.codec.isRandomAccess(ByteBuffer(bytes: $0.bytes)) }.map(\.ticks))
    #expect(keys.count >= 60 / groupLength)
    #expect(groupLength == 1 ? starts.count > 10 : starts.count == keys.count)
    #expect(starts.first == 0)
    for start in starts {
      let key = try #require(packets[start].key)
      let joined = Set(try units(in: packets[start...], mode.codec).map(\.number))
      // Numbers begin at 65,530, and there are few.
      let first = try #require(
        all.filter { $0.ticks == key }.compactMap { $0.number.map { $0 &+ 6 } }.min())
      let needed = all.filter { ($0.number ?? 0) &+ 6 >= first }
      #expect(needed.contains { mode.codec.isRandomAccess(ByteBuffer(bytes: $0.bytes)) })
      #expect(needed.allSatisfy { joined.contains($0.number) }, "packet \(start)")
      var queue = ClientQueue(waits: true)
      for packet in packets[start...] { queue.add(packet) }
      #expect(queue.take(upTo: .max) == Array(packets[start...]))
    }
  }
}
