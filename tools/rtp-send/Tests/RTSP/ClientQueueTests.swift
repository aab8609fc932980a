import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// Packets of a made-up stream: track 0 has pictures, track 1 sound.
enum MadePackets {
  static func packet(
    picture: UInt32, track: Int = 0, isKey: Bool = false, isControl: Bool = false, size: Int = 1000,
    number: UInt16 = 0
  ) -> PacketFeed.Packet {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(UInt8(0x80), UInt8(96), number, picture * 3000, UInt32(7))
    bytes.writeRepeatingByte(0, count: max(0, size - bytes.readableBytes))
    var packet = PacketFeed.Packet(bytes: bytes)
    (packet.track, packet.isControl) = (track, isControl)
    packet.key = isKey ? Int64(picture) * 3000 : nil
    return packet
  }

  /// Pictures in order, each of several packets, with a key picture every `group`.
  static func pictures(
    _ range: Range<UInt32>, group: UInt32, packets: Int = 10, size: Int = 1000
  ) -> [PacketFeed.Packet] {
    range.flatMap { picture in
      (0..<packets).map {
        packet(
          picture: picture, isKey: picture % group == 0, size: size,
          number: UInt16(truncatingIfNeeded: Int(picture) * packets + $0))
      }
    }
  }

  static func picture(_ packet: PacketFeed.Packet) -> UInt32 {
    (packet.bytes.rtpTimestamp ?? 0) / 3000
  }
}

@Suite struct ClientQueueTests {
  @Test func aNewcomerBeginsWithAKeyPicture() {
    var queue = ClientQueue(waits: true)
    for packet in MadePackets.pictures(5..<25, group: 10) { queue.add(packet) }
    let taken = queue.take(upTo: .max)
    #expect(
      taken.map(MadePackets.picture)
        == MadePackets.pictures(10..<25, group: 10).map(MadePackets.picture))
    #expect(queue.skippedUnits == 0)
  }

  /// No packet of its track is a key picture's.
  @Test func aClientOfSoundAloneBeginsWithWhateverComes() {
    var queue = ClientQueue(waits: true)
    queue.hasPictures = false
    let sound = (0..<6000).map { MadePackets.packet(picture: UInt32($0), track: 1) }
    queue.add(sound[0])
    #expect(queue.take(upTo: .max) == [sound[0]])
    for packet in sound.dropFirst() { queue.add(packet) }
    // It is too slow for some of it, and goes on with the next.
    #expect(queue.skippedUnits > 0)
    #expect(queue.take(upTo: .max).last == sound.last)
  }

  @Test(arguments: [1 << 10, 64 << 10, 1 << 20], [5, 30, 100_000] as [UInt32])
  func aSlowClientGetsWholePicturesBehindKeyPictures(step: Int, group: UInt32) {
    var queue = ClientQueue(waits: false)
    var taken: [PacketFeed.Packet] = []
    let all = MadePackets.pictures(0..<3000, group: group)
    for (index, packet) in all.enumerated() {
      queue.add(packet)
      #expect(queue.byteCount <= ClientQueue.longest)
      // The client takes a tenth of what is made.
      if index % (step / 100) == 0 { taken += queue.take(upTo: step) }
    }
    taken += queue.take(upTo: .max)
    let got = Dictionary(grouping: taken, by: MadePackets.picture)
    #expect(got.values.allSatisfy { $0.count == 10 })
    #expect(got.count + queue.skippedUnits == 3000)
    // After a gap comes a key picture.
    let pictures = got.keys.sorted()
    for (before, after) in zip(pictures, pictures.dropFirst()) where after != before + 1 {
      #expect(after % group == 0, "\(before) → \(after)")
    }
    #expect(queue.skippedUnits > 0)
  }

  @Test func aPictureThatIsTooLongIsLeftOut() {
    var queue = ClientQueue(waits: false)
    for packet in MadePackets.pictures(0..<1, group: 1, packets: 100, size: 60_000) {
      queue.add(packet)
      #expect(queue.byteCount <= ClientQueue.longest)
    }
    for packet in MadePackets.pictures(1..<3, group: 1) { queue.add(packet) }
    let taken = queue.take(upTo: .max)
    #expect(Set(taken.map(MadePackets.picture)) == [1, 2])
    #expect(queue.skippedUnits == 1)
  }

  /// Interleaving sends packets of other pictures between those of a key picture (RFC 6184 §6.4).
  @Test func theRestOfAKeyPictureIsLeftOutWithItsBeginningWhateverComesBetween() {
    var queue = ClientQueue(waits: false)
    for _ in 0..<100 {
      queue.add(MadePackets.packet(picture: 2, isKey: true, size: 60_000))
      queue.add(MadePackets.packet(picture: 1))
    }
    for packet in MadePackets.pictures(4..<6, group: 4) { queue.add(packet) }
    #expect(Set(queue.take(upTo: .max).map(MadePackets.picture)) == [4, 5])
  }

  @Test func reportsPassWhatIsLeftOutAndAreBounded() {
    var queue = ClientQueue(waits: true)
    for _ in 0..<100_000 { queue.add(MadePackets.packet(picture: 0, isControl: true, size: 100)) }
    #expect(queue.byteCount <= ClientQueue.longest + ClientQueue.longestControl)
    #expect(!queue.take(upTo: 1000).isEmpty)
  }

  @Test func theGroupOfPicturesIsKeptForNewcomers() {
    var group = PictureGroup()
    for packet in MadePackets.pictures(5..<27, group: 10, packets: 3) {
      group.add(packet)
      group.add(MadePackets.packet(picture: MadePackets.picture(packet), track: 1, size: 100))
    }
    #expect(Set(group.packets.map(MadePackets.picture)) == Set(20..<27))
    #expect(group.packets.first?.isKey == true)
    #expect(group.packets.count == 7 * 3 * 2)
    // At 30 pictures a second, 60 are too old to begin with.
    for packet in MadePackets.pictures(27..<80, group: 1000, packets: 3) { group.add(packet) }
    #expect(Set(group.packets.map(MadePackets.picture)) == Set(20..<80))
    for packet in MadePackets.pictures(80..<90, group: 1000, packets: 3) { group.add(packet) }
    #expect(group.packets.isEmpty)
    for packet in MadePackets.pictures(1000..<1001, group: 1000, packets: 3, size: 1400) {
      group.add(packet)
    }
    #expect(group.packets.count == 3)
    for packet in MadePackets.pictures(1001..<1002, group: 1000, packets: 10_000, size: 1400) {
      group.add(packet)
    }
    #expect(group.packets.isEmpty)
  }

  @Test func aGroupHasAllPacketsOfItsKeyPictureWhateverComesBetween() {
    var group = PictureGroup()
    let packets = [9, 10, 8, 9, 10].map { MadePackets.packet(picture: $0, isKey: true) }
    for packet in packets { group.add(packet) }
    #expect(group.packets == Array(packets[1...]))
  }

  @Test func packetsAreFramedOnceForAllClientsWithTheSameChannels() {
    let packets = [
      MadePackets.packet(picture: 1, size: 20), MadePackets.packet(picture: 1, track: 1, size: 30),
      MadePackets.packet(picture: 1, isControl: true, size: 40),
    ]
    let map = ChannelMap([
      0: .interleaved(TransportOffer.ChannelPair(rtp: 4, rtcp: 9)),
      1: .interleaved(TransportOffer.ChannelPair(rtp: 2, rtcp: 3)),
    ])
    var bytes = PacketBatch(packets).frames(on: map).bytes
    for (channel, packet) in zip([4, 2, 9] as [UInt8], packets) {
      #expect(bytes.readInteger(as: UInt8.self) == 0x24)
      #expect(bytes.readInteger(as: UInt8.self) == channel)
      let length = bytes.readInteger(as: UInt16.self) ?? 0
      #expect(bytes.readSlice(length: Int(length)) == packet.bytes)
    }
    #expect(bytes.readableBytes == 0)
    // A client that has set up only one of the tracks gets only that one.
    let one = PacketBatch(packets).frames(
      on: ChannelMap([1: .interleaved(TransportOffer.ChannelPair(rtp: 0, rtcp: 1))]))
    #expect(one.bytes.readableBytes == 34)
    #expect(one.count == 1 && one.packetBytes == 30)
  }

  @Test func aClientHasOnlySoMuchSentAgain() {
    var allowance = ResendAllowance()
    let packets = MadePackets.pictures(0..<30, group: 1)
    var given = 0
    for index in 0..<100 {
      let now = Instant(nanoseconds: Int64(index) * 10_000_000)
      given += allowance.allowed(packets, at: now).count
    }
    #expect(given > ResendAllowance.packets)
    #expect(given <= 2 * ResendAllowance.packets)
  }
}
