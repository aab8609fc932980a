import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing
import Transports

@testable import RTPSend

/// Whatever sound the sender packs, in every coding and at every size, the receiver unpacks
/// unchanged by what the sender's description says.
@Suite struct SoundRoundTripTests {
  private static let frames: [SoundFormat.Coding] = [
    .aac, .aacLowRate, .adts, .latm, .latmInBand, .opus,
  ]

  /// Frames of random lengths and contents, which nobody decodes.
  private final class MadeSound: SoundSource {
    let format: SoundFormat
    let frameLength: Int?
    let configuration: [UInt8]
    var units: [SourceAccessUnit] = []

    init(_ format: SoundFormat, _ dice: inout SeededGenerator) {
      self.format = format
      let header = AudioSpecificConfig(rate: format.samplingRate, channels: format.channels)
      configuration = format.coding.isAAC ? header.bytes : []
      frameLength =
        format.sampleGroup == nil ? format.coding == .opus ? 960 : 1024 : nil
      var ticks: Int64 = 0
      // As many as fill the packets of every packet time, so that none is left out at the end.
      for _ in 0..<48 {
        var bytes = ByteBuffer()
        if let group = format.sampleGroup {
          let count = dice.number(upTo: 1500)
          bytes.writeBytes(dice.bytes(count * group.bytes))
        } else {
          bytes.writeBytes(Self.frame(format.coding, header, &dice))
        }
        units.append(
          SourceAccessUnit(
            units: [bytes], presentationTicks: ticks, decodingTicks: ticks, isRandomAccess: true))
        let group = format.sampleGroup ?? (frameLength ?? 1, bytes.readableBytes)
        ticks += Int64(bytes.readableBytes / group.bytes * group.ticks)
      }
    }

    private static func frame(
      _ coding: SoundFormat.Coding, _ header: AudioSpecificConfig, _ dice: inout SeededGenerator
    ) -> [UInt8] {
      let longest = coding == .aacLowRate ? 62 : [20, 300, 1500][dice.integer(below: 3)]
      // A single channel element; or one frame of 20 ms.
      let frame = [coding == .opus ? 0xF8 : 0x01] + dice.bytes(dice.number(upTo: longest))
      return coding == .adts ? header.adtsHeader(of: frame.count) + frame : frame
    }

    func next() -> Supply<SourceAccessUnit> { .end }
  }

  @Test("frames of random lengths", arguments: frames, UInt64(1)...24)
  func framesComeBack(coding: SoundFormat.Coding, seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    let source = MadeSound(try SoundFormat(coding.rawValue), &dice)
    var packetization = SoundPacketization()
    packetization.packetTime = coding == .opus ? 20 : [20, 60, 100][dice.integer(below: 3)]
    packetization.payloadLimit = [16, 40, 200, 1400, 9000][dice.integer(below: 5)]
    if [.aac, .aacLowRate].contains(coding) {
      packetization.interleaving = [1, 2, 4, coding == .aac ? 8 : 3][dice.integer(below: 4)]
    }
    let received = try Self.received(source, packetization)
    let header = coding == .adts ? 7 : 0
    #expect(
      received.units.map { Array($0.bytes.readableBytesView) }
        == source.units.map { Array($0.units[0].readableBytesView.dropFirst(header)) })
    #expect(received.units.map(\.time.ticks) == source.units.map(\.presentationTicks))
    Self.check(received.statistics)
  }

  @Test(
    "samples in pieces of random lengths",
    arguments: SoundFormat.Coding.allCases.filter { !frames.contains($0) }, UInt64(1)...6)
  func samplesComeBack(coding: SoundFormat.Coding, seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    let source = MadeSound(try SoundFormat(coding.rawValue), &dice)
    var packetization = SoundPacketization()
    packetization.packetTime = dice.number(upTo: 60)
    packetization.payloadLimit = [16, 61, 400, 1400][dice.integer(below: 4)]
    let received = try Self.received(source, packetization)
    #expect(
      received.units.flatMap { Array($0.bytes.readableBytesView) }
        == source.units.flatMap { Array($0.units[0].readableBytesView) })
    let group = try #require(source.format.sampleGroup)
    var ticks: Int64 = 0
    for unit in received.units {
      #expect(unit.time.ticks == ticks)
      ticks += Int64(unit.bytes.readableBytes / group.bytes * group.ticks)
    }
    Self.check(received.statistics)
  }

  private static func check(_ statistics: SoundStatistics) {
    let good: Set = ["packets", "unpacked", "units", "samples"]
    for (name, count) in statistics.counts where !good.contains(name) {
      #expect(count == 0, "\(name)")
    }
  }

  /// What the receiver takes out of the packets, by the sender's description.
  private static func received(
    _ source: MadeSound, _ packetization: SoundPacketization
  ) throws -> (units: [SoundUnit], statistics: SoundStatistics) {
    var packetizer = packetization.packetizer(for: source)
    var payloads: [RTPPayload] = []
    for unit in source.units { payloads += packetizer.packetize(unit) }
    payloads += packetizer.finish()
    var configuration = RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0)
    configuration.payloadType = 97
    var stream = RTPStream(configuration)

    let media = try description(of: source.format, packetization)
    var defragmenter = try #require(SoundDefragmenter(media: media))
    var units: [SoundUnit] = []
    for (index, bytes) in stream.packets(with: payloads).enumerated() {
      let packet = try RTPPacket(parsing: bytes)
      defragmenter.push(
        OrderedPacket(
          packet: packet, extendedSequence: 65_536 + Int64(index),
          time: MediaTime(ticks: Int64(packet.timestamp), timescale: media.clockRate),
          arrival: Instant(nanoseconds: Int64(index)), isDiscontinuity: index == 0))
      while let unit = defragmenter.next() { units.append(unit) }
    }
    defragmenter.flush()
    while let unit = defragmenter.next() { units.append(unit) }
    return (units, defragmenter.statistics)
  }

  private static func description(
    of format: SoundFormat, _ packetization: SoundPacketization
  ) throws -> MediaDescription {
    let sound = try SoundDescription(
      of: .tone(format, seconds: 1), payloadType: 97, packetization: packetization)
    var described = RTPSend.SessionDescription(
      nil, payloadType: 96, packetization: .nonInterleaved,
      address: try SocketAddress(ipAddress: "127.0.0.1", port: 5004), multiplexesRTCP: false)
    described.sound = sound
    let session = try Transports.SessionDescription(parsing: Array(described.text.utf8))
    return try #require(session.media.first).description
  }
}
