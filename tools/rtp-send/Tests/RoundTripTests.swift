import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// Whatever the sender packs, in every mode and at every size, the receiver unpacks unchanged.
@Suite struct RoundTripTests {
  static let cases: [(Codec, Packetization)] = PacketizerTests.modes

  @Test("random pictures, packet sizes and aggregation", arguments: cases, UInt64(1)...12)
  func comesBack(mode: (codec: Codec, packetization: Packetization), seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    let limits = [16, 21, 22, 40, 200, 1200, 1400, 9000, 65_000]
    let isSingle = mode.packetization == .single
    let least = mode.packetization == .paci ? ContentInformationPacketizer.minimumLimit : 0
    let limit = isSingle ? 65_000 : max(least, limits[dice.integer(below: limits.count)])
    let material: Material = mode.codec == .h264 ? .h264 : .h265
    let pictures = Self.pictures(material, longest: 3 * min(limit, 1400), count: 24, &dice)
    let packets = try Self.packets(
      of: pictures, mode.codec, mode.packetization, limit: limit, aggregates: seed % 3 > 0)

    var defragmenter = try VideoDefragmenter(media: Self.description(mode))
    var received: [AccessUnit] = []
    for (index, packet) in packets.enumerated() {
      #expect(packet.payload.readableBytes <= limit)
      let sequence = Int64(packet.sequenceNumber.rawValue) + 65_536
      defragmenter.push(
        OrderedPacket(
          packet: packet, extendedSequence: sequence,
          time: MediaTime(ticks: Int64(packet.timestamp), timescale: 90_000),
          arrival: Instant(nanoseconds: Int64(index)), isDiscontinuity: index == 0))
      while let unit = defragmenter.next() { received.append(unit) }
    }
    defragmenter.flush()
    while let unit = defragmenter.next() { received.append(unit) }

    #expect(received.map { $0.nalUnits.map { Array($0.readableBytesView) } } == pictures)
    #expect(received.map(\.time.ticks) == pictures.indices.map { Int64($0) * 3000 })
    #expect(received.allSatisfy { $0.integrity == .whole })
    let good: Set = ["packets", "units", "access_units"]
    #expect(defragmenter.statistics.counts.allSatisfy { good.contains($0.name) || $0.count == 0 })
  }

  /// Key pictures with their sets, and others, of one to four slices; random lengths, no zeros.
  private static func pictures(
    _ material: Material, longest: Int, count: Int, _ dice: inout SeededGenerator
  ) -> [[[UInt8]]] {
    (0..<count).map { index in
      let isKey = index % 8 == 0
      var units = isKey ? material.parameterSets : []
      if index % 3 == 0 { units.append(material.supplementalInformation) }
      for slice in 0..<dice.number(upTo: 4) {
        let first = isKey ? material.keySlice : material.slice
        let later = isKey ? material.laterKeySlice : material.laterSlice
        let length = dice.integer(below: longest)
        units.append(
          (slice == 0 ? first : later)
            + (0..<length).map { _ in UInt8.random(in: 1...255, using: &dice) })
      }
      return units
    }
  }

  private static func packets(
    of pictures: [[[UInt8]]], _ codec: Codec, _ packetization: Packetization, limit: Int,
    aggregates: Bool
  ) throws -> [RTPPacket] {
    var packetizer = packetization.packetizer(
      for: codec, payloadLimit: limit, aggregates: aggregates)
    var stream = RTPStream(
      RTPStream.Configuration(ssrc: 0xCAFE, initialSequence: 0, initialTimestamp: 0))
    var payloads: [RTPPayload] = []
    for (index, units) in pictures.enumerated() {
      let ticks = Int64(index) * 3000
      payloads += packetizer.packetize(
        SourceAccessUnit(
          units: units.map { ByteBuffer(bytes: $0) }, presentationTicks: ticks,
          decodingTicks: ticks, isRandomAccess: index % 8 == 0))
    }
    payloads += packetizer.finish()
    return try stream.packets(with: payloads).map { try RTPPacket(parsing: $0) }
  }

  /// What the sender's description says of the mode.
  private static func description(_ mode: (Codec, Packetization)) -> MediaDescription {
    var parameters: [String: String] = [:]
    switch mode {
    case (.h264, let packetization) where packetization.isInterleaved:
      parameters = [
        "packetization-mode": "2", "sprop-interleaving-depth": "\(Interleaver.depth)",
      ]
    case (.h265, .interleaved):
      parameters = [
        "sprop-max-don-diff": "\(Interleaver.maximumDifference)",
        "sprop-depack-buf-nalus": "\(Interleaver.depth)",
      ]
    default: break
    }
    return MediaDescription(encodingName: mode.0.encodingName, formatParameters: parameters)
  }
}
