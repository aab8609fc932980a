import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

@Suite struct PacketizerTests {
  static let limits = [16, 17, 64, 1400]
  static let codecs = Codec.allCases

  /// Random access units whose NAL units have sizes around what fits in a packet, and around
  /// nothing.
  static func accessUnits(codec: Codec, limit: Int, seed: UInt64) -> [SourceAccessUnit] {
    var dice = SeededGenerator(seed: seed)
    return (0..<40).map { index in
      let units = (0..<dice.number(upTo: 6)).map { _ in
        let base = [codec.headerLength + 1, 4, limit / 2, limit, 2 * limit, 3 * limit]
        let size = base[dice.number(upTo: base.count) - 1] + dice.number(upTo: 15) - 8
        return unit(codec, size: max(codec.headerLength, size), &dice)
      }
      return SourceAccessUnit(
        units: units, presentationTicks: Int64(index) * 3000, decodingTicks: Int64(index) * 3000,
        isRandomAccess: index % 10 == 0)
    }
  }

  static func unit(_ codec: Codec, size: Int, _ dice: inout SeededGenerator) -> ByteBuffer {
    var bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
    switch codec {
    case .h264: bytes[0] = bytes[0] & 0x60 | UInt8(dice.number(upTo: 23))
    case .h265:
      // Type 0 to 47, layer 0 to 63, temporal identifier 1 to 7.
      bytes[0] = UInt8(dice.number(upTo: 48) - 1) << 1 | bytes[0] & 1
      bytes[1] = bytes[1] & 0xF8 | UInt8(dice.number(upTo: 7))
    }
    return ByteBuffer(bytes: bytes)
  }

  @Test(arguments: codecs, limits)
  func unitsOfEverySizeComeBackUnchanged(codec: Codec, limit: Int) throws {
    for seed in UInt64(0)..<20 {
      let units = Self.accessUnits(codec: codec, limit: limit, seed: seed)
      var packetizer = Packetization.nonInterleaved.packetizer(
        for: codec, payloadLimit: limit, aggregates: seed % 2 == 0)
      for unit in units {
        let payloads = packetizer.packetize(unit)
        var reader = ReferenceDepacketizer(codec: codec)
        for payload in payloads {
          #expect(payload.bytes.readableBytes <= limit)
          #expect(payload.ticks == unit.presentationTicks)
          try reader.read(payload)
        }
        #expect(reader.decoded == unit.units.map { Array($0.readableBytesView) })
        #expect(payloads.map(\.marker) == payloads.indices.map { $0 == payloads.count - 1 })
      }
      #expect(packetizer.finish().isEmpty)
    }
  }

  @Test(
    arguments: [
      (Codec.h264, Packetization.interleaved), (.h264, .mtap16), (.h264, .mtap24),
      (.h265, .interleaved),
    ], limits)
  func interleavedUnitsComeBackInDecodingOrder(
    mode: (codec: Codec, packetization: Packetization), limit: Int
  ) throws {
    for seed in UInt64(0)..<20 {
      let units = Self.accessUnits(codec: mode.codec, limit: limit, seed: seed)
      var packetizer = mode.packetization.packetizer(
        for: mode.codec, payloadLimit: limit, aggregates: seed % 2 == 0)
      let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
      var reader = ReferenceDepacketizer(codec: mode.codec, isNumbered: true)
      for payload in payloads {
        #expect(payload.bytes.readableBytes <= limit)
        try reader.read(payload)
      }
      let sent = units.flatMap { unit in unit.units.map { Array($0.readableBytesView) } }
      #expect(reader.decoded == sent)
      #expect(reader.units.map(\.bytes) != sent, "nothing was interleaved")
      // Every unit has its own access unit's time, whatever packet it travelled in.
      let times = Dictionary(grouping: reader.units, by: \.ticks).mapValues(\.count)
      #expect(
        times
          == Dictionary(uniqueKeysWithValues: units.map { ($0.presentationTicks, $0.units.count) }))
      checkDifferences(reader.units.compactMap(\.number))
    }
  }

  /// What the SDP promises of the sending order (RFC 6184 §8.1).
  private func checkDifferences(_ numbers: [UInt16]) {
    let extended = numbers.map { Int($0) < 32_768 ? Int($0) + 65_536 : Int($0) }
    for (index, number) in extended.enumerated() {
      let ahead = extended[..<index].filter { $0 > number }
      #expect(ahead.count <= Interleaver.depth)
      #expect((ahead.max() ?? number) - number <= Interleaver.maximumDifference)
    }
  }

  @Test func everyPayloadStructureIsUsed() throws {
    func types(_ codec: Codec, _ packetization: Packetization) throws -> Set<UInt8> {
      let isNumbered = packetization.isInterleaved
      var reader = ReferenceDepacketizer(codec: codec, isNumbered: isNumbered)
      var packetizer = packetization.packetizer(for: codec, payloadLimit: 200, aggregates: true)
      for unit in Self.accessUnits(codec: codec, limit: 100, seed: 3) {
        for payload in packetizer.packetize(unit) { try reader.read(payload) }
      }
      return reader.types
    }
    #expect(try types(.h264, .nonInterleaved).isSuperset(of: [1, 24, 28]))
    #expect(try types(.h264, .interleaved) == [25, 28, 29])
    #expect(try types(.h264, .mtap16) == [25, 26, 28, 29])
    #expect(try types(.h264, .mtap24) == [25, 27, 28, 29])
    #expect(try types(.h265, .nonInterleaved).isSuperset(of: [48, 49]))
    #expect(try types(.h265, .interleaved).isSuperset(of: [48, 49]))
    #expect(try types(.h265, .paci) == [50])
    #expect(try types(.h264, .single).isDisjoint(with: 24...29))
    #expect(try types(.h265, .single).isDisjoint(with: 48...50))
  }

  @Test(arguments: [(Codec.h264, Packetization.paci), (.h265, .mtap16), (.h265, .mtap24)])
  func modesOfTheOtherCodecAreRefused(codec: Codec, packetization: Packetization) {
    #expect(throws: SendError.self) { try packetization.check(for: codec) }
  }

  /// By hand: an IDR slice with the F bit, layer 3 and TID 1, behind its PACI fields.
  @Test func contentInformationKeepsTheHeaderAndCountsPictures() {
    var packetizer = ContentInformationPacketizer()
    let slice = ByteBuffer(bytes: [0xA6, 0x19, 1, 2, 3])
    let unit = SourceAccessUnit(
      units: [slice], presentationTicks: 0, decodingTicks: 0, isRandomAccess: true)
    let other = SourceAccessUnit(
      units: [ByteBuffer(bytes: [0x02, 0x02, 4])], presentationTicks: 0, decodingTicks: 0,
      isRandomAccess: false)
    let payloads = (packetizer.packetize(unit) + packetizer.packetize(other)).map {
      Array($0.bytes.readableBytesView)
    }
    #expect(payloads[0] == [0x64, 0x19, 0xA6, 0x38, 0, 0, 0xC0, 1, 2, 3])
    // TID 2 is a higher layer, and the counters stay.
    #expect(payloads[1] == [0x64, 0x02, 0x02, 0x38, 0, 0, 0xC0, 4])
  }

  @Test func aggregationHeadersTakeTheHighestImportanceAndTheLowestLayer() {
    let h264 = [[0x67, 1], [0x28, 2], [0x06, 3]].map { ByteBuffer(bytes: $0 as [UInt8]) }
    #expect(H264Packetizer.header(type: 24, aggregating: h264) == 0x78)

    var packetizer = H265Packetizer()
    // Types 32 and 33, layers 2 and 1, temporal identifiers 3 and 2.
    let units = [[0x40, 0x13, 9], [0x42, 0x0A, 9]].map { ByteBuffer(bytes: $0 as [UInt8]) }
    let payload = packetizer.packetize(
      SourceAccessUnit(units: units, presentationTicks: 0, decodingTicks: 0, isRandomAccess: true))
    #expect(Array(payload[0].bytes.readableBytesView.prefix(2)) == [0x60, 0x0A])
  }

  @Test(arguments: [16, 100, 1400])
  func markersInInterleavedStreamsEndEachAccessUnitOnce(limit: Int) {
    for codec in Codec.allCases {
      let units = Self.accessUnits(codec: codec, limit: limit, seed: 9)
      var packetizer = Packetization.interleaved.packetizer(
        for: codec, payloadLimit: limit, aggregates: false)
      let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
      for (index, payload) in payloads.enumerated() {
        let isLast = !payloads[(index + 1)...].contains { $0.ticks == payload.ticks }
        #expect(payload.marker == isLast)
      }
    }
  }

  /// Each mode with each codec for which it exists.
  static let modes = Codec.allCases.flatMap { codec in
    Packetization.allCases.filter { (try? $0.check(for: codec)) != nil }.map { (codec, $0) }
  }

  /// Dolby Vision has a layer of its own in type 28 of H.264, which would arrive as fragments.
  @Test(arguments: modes)
  func unitsOfTypesThatRTPReservesAreLeftOut(codec: Codec, packetization: Packetization) throws {
    func unit(_ type: UInt8, _ length: Int) -> ByteBuffer {
      let head = codec == .h264 ? [0x60 | type] : [type << 1, 1]
      return ByteBuffer(bytes: head + [UInt8](repeating: 7, count: length))
    }
    let reserved: [UInt8] = codec == .h264 ? [0] + Array(24...31) : Array(48...63)
    for length in [5, 3000] {
      let others = reserved.map { unit($0, length) }
      let own = unit(1, 50)
      var packetizer = packetization.packetizer(for: codec, payloadLimit: 1400, aggregates: true)
      var alone = packetization.packetizer(for: codec, payloadLimit: 1400, aggregates: true)
      func access(_ units: [ByteBuffer]) -> SourceAccessUnit {
        SourceAccessUnit(
          units: units, presentationTicks: 0, decodingTicks: 0, isRandomAccess: false)
      }
      let payloads = packetizer.packetize(access(others + [own] + others)) + packetizer.finish()
      #expect(payloads == alone.packetize(access([own])) + alone.finish())
      #expect(payloads.last?.marker == true)
      #expect(others.allSatisfy { !codec.canSend($0) } && codec.canSend(own))
    }
  }

  /// Nothing tells a receiver of them, so the sender's report does.
  @Test func unitsThatAreLeftOutAreCounted() throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h264")
    try FFmpeg.makeClip(file, frames: 3, ["-c:v", "libx264", "-bf", "0"])
    // Behind the last slice, it belongs to the last picture.
    try (Data(contentsOf: file) + [0, 0, 1, 0x7C, 1, 2, 3, 0, 0, 1, 0x7E, 4]).write(to: file)
    let stream = RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0)
    let feed = PacketFeed.Configuration(recipe: .file(path: file.path), stream: stream)
    var configuration = SenderConfiguration(feed: feed, destination: .send(host: "::1", port: 9))
    configuration.pacing = .unpaced
    var run = try StreamRun(
      configuration, unixNanoseconds: { 0 }, clock: { Instant(nanoseconds: 0) })
    let now = Instant(nanoseconds: 1_000_000_000)
    while !run.isFinished {
      while run.next(at: now) != nil {}
      try run.prepare()
    }
    let report = run.report(at: now)
    #expect(report.frames == 3 && report.refusedUnits == 2)
  }

  @Test(arguments: modes)
  func emptyAndCutUnitsAreLeftOut(codec: Codec, packetization: Packetization) {
    var packetizer = packetization.packetizer(for: codec, payloadLimit: 0, aggregates: true)
    let cut = codec == .h264 ? [ByteBuffer()] : [ByteBuffer(), ByteBuffer(bytes: [0x40])]
    let unit = SourceAccessUnit(
      units: cut, presentationTicks: 0, decodingTicks: 0, isRandomAccess: false)
    #expect((packetizer.packetize(unit) + packetizer.finish()).isEmpty)
  }
}
