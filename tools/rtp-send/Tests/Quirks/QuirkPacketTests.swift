import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// What quirks do to the packets of a session on a virtual clock.
@Suite struct QuirkPacketTests {
  /// Everything that leaves in two seconds, in order.
  private func packets(_ quirks: String?, _ codec: Codec, from time: String = "0") throws
    -> [[UInt8]]
  {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 60)
    (pattern.codec, pattern.bidirectionalPictures, pattern.groupLength) = (codec, 2, 20)
    var feed = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    feed.payloadLimit = 400
    var configuration = SenderConfiguration(
      feed: feed, destination: .send(host: "127.0.0.1", port: 9))
    configuration.controlOffset = 1
    if let quirks { configuration.tracks[0].plan = try PlanText.parse("\(time) quirk \(quirks)") }
    var now = Instant(nanoseconds: 0)
    var run = try StreamRun(configuration, unixNanoseconds: { 1_000_000_000 }) { now }
    var sent: [[UInt8]] = []
    func note(_ packet: PacketFeed.Packet) {
      sent.append([UInt8(packet.portOffset)] + packet.bytes.readableBytesView)
    }
    while !run.isFinished, let deadline = run.deadline {
      now = max(now, deadline)
      while let packet = run.next(at: now) { note(packet) }
      try run.prepare()
    }
    for packet in run.goodbye(at: now) { note(packet) }
    return sent
  }

  /// For that of sound, see below.
  @Test(
    arguments: Quirk.allCases.filter {
      [.packets, .payloads].contains($0.place) && $0 != .adtsInside
    }, Codec.allCases)
  func everyQuirkShows(
    quirk: Quirk, codec: Codec
  ) throws {
    let plain = try packets(nil, codec)
    let odd = try packets(quirk.rawValue, codec)
    // RFC 7798 has no reserved bit in fragments.
    #expect((odd != plain) == !(quirk == .fragmentReservedBit && codec == .h265))
    #expect(try packets(quirk.rawValue, codec) == odd)
  }

  @Test func framesOfSoundHaveTheHeadersOfADTS() throws {
    let plain = try soundPayloads([])
    let odd = try soundPayloads([.adtsInside])
    #expect(!odd.isEmpty && odd.count == plain.count)
    for (odd, plain) in zip(odd, plain) {
      // A frame is behind four bytes of RFC 3640.
      let frame = Array(plain.dropFirst(4))
      let header = AudioSpecificConfig(rate: 48_000, channels: 2).adtsHeader(of: frame.count)
      #expect(Array(odd.dropFirst(4)) == header + frame)
    }
  }

  /// Those of a second of AAC.
  private func soundPayloads(_ quirks: Set<Quirk>) throws -> [[UInt8]] {
    var plan = Plan()
    plan.quirks = quirks
    let configuration = PacketFeed.SoundConfiguration(
      recipe: .tone(try SoundFormat("aac/48000/2"), seconds: 1),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    var feed = try PacketFeed(configuration, plan)
    var payloads: [[UInt8]] = []
    while let batch = try feed.next().element {
      payloads += batch.packets.map { Array($0.bytes.readableBytesView.dropFirst(12)) }
    }
    return payloads
  }

  @Test func aQuirkBeginsWithItsTime() throws {
    let plain = try packets(nil, .h264)
    let late = try packets("padding", .h264, from: "1")
    let first = try #require(zip(plain, late).enumerated().first { $0.element.0 != $0.element.1 })
    #expect(first.offset > 30)
    #expect(late[first.offset][1] & 0x20 == 0x20)
    #expect(Array(late[first.offset].suffix(4)) == [0, 0, 0, 4])
  }
}
