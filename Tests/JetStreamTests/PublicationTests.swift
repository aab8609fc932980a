import Bitstream
import Defragment
import NIOCore
import Outputs
import RTPWire
import TestSupport
import Testing

@testable import JetStream

/// What becomes of pictures and sound on their way into NATS, as values.
struct PublicationTests {
  private static let start = WallClockTime(nanoseconds: 1_700_000_000_000_000_000)

  private static func publication() -> Publication {
    var numbers = SeededGenerator(seed: 1)
    return Publication(camera: "door", session: 7, wallClock: .system, using: &numbers)
  }

  /// An access unit of H.264 with NAL units of these types and lengths.
  static func unit(
    _ number: Int64, _ parts: [(type: UInt8, length: Int, isWhole: Bool)],
    gaps: [AccessUnit.Gap] = [], integrity: AccessUnit.Integrity = .whole
  ) -> AccessUnit {
    var bytes = ByteBuffer()
    var units: [NALUnit] = []
    for (type, length, isWhole) in parts {
      bytes.writeBytes([0, 0, 0, 1])
      units.append(
        NALUnit(offset: bytes.writerIndex, length: length, type: type, isWhole: isWhole))
      bytes.writeInteger(0x60 | type)
      bytes.writeRepeatingByte(UInt8(truncatingIfNeeded: number), count: length - 1)
    }
    let arrival = Instant(nanoseconds: number * 40_000_000)
    var unit = AccessUnit(
      codec: H264.codec, bytes: bytes, units: units,
      time: MediaTime(ticks: number * 3600, timescale: 90_000), firstArrival: arrival,
      lastArrival: arrival, integrity: integrity, gaps: gaps,
      isRandomAccess: parts.contains { $0.type == 5 })
    unit.captureTime = start.advanced(byNanoseconds: number * 40_000_000)
    return unit
  }

  private static func packets(_ messages: [Publication.Message]) throws -> [ByteBuffer] {
    var packets: [ByteBuffer] = []
    for message in messages where message.subject != .description {
      var rest = message.payload
      while rest.readableBytes > 0 {
        let packet = rest.readLengthPrefixedSlice(as: UInt16.self)
        packets.append(try #require(packet))
      }
    }
    return packets
  }

  private static func media(_ messages: [Publication.Message]) throws -> [RTPPacket] {
    try packets(messages).filter { !RTCPPacket.recognizes($0) }.map { try RTPPacket(parsing: $0) }
  }

  private static func steps(_ packets: [RTPPacket]) -> [UInt16] {
    zip(packets, packets.dropFirst()).map {
      $1.sequenceNumber.rawValue &- $0.sequenceNumber.rawValue
    }
  }

  private static func text(_ messages: [Publication.Message]) -> String {
    messages.filter { $0.subject == .description }.map { String(buffer: $0.payload) }.joined()
  }

  @Test func nothingIsLeftOutOfWhatIsWhole() throws {
    var publication = Self.publication()
    var messages = try publication.messages(
      for: .unit(Self.unit(1, [(7, 10, true), (8, 5, true), (5, 900, true)])), limit: 1 << 20)
    #expect(messages.isEmpty)
    messages = try publication.finish(limit: 1 << 20)
    messages += try publication.messages(
      for: .unit(Self.unit(2, [(1, 300, true)])), limit: 1 << 20)
    let packets = try Self.media(messages)
    #expect(packets.map(\.payloadLength) == [10, 5, 900, 300])
    #expect(packets.map(\.marker) == [false, false, true, true])
    #expect(packets.map(\.timestamp) == [3600, 3600, 3600, 7200])
    #expect(Self.steps(packets) == [1, 1, 1])
    #expect(messages.map(\.items) == [0, 1, 1])
    #expect(Set(messages.map(\.id)).count == messages.count)
    #expect(messages[1].headers.contains { $0.name == "Rtp-Key" })
    #expect(Self.text(messages).contains("a=rtpmap:96 H264/90000"))
    #expect(Self.text(messages).contains("sprop-parameter-sets="))
  }

  @Test func theNumbersOfWhatIsMissingAreLeftOut() throws {
    var publication = Self.publication()
    _ = try publication.messages(for: .unit(Self.unit(1, [(5, 100, true)])), limit: 1 << 20)
    var messages = try publication.finish(limit: 1 << 20)
    let units = [
      Self.unit(2, [(1, 100, true)], integrity: .afterLoss),
      Self.unit(
        3, [(1, 100, true), (1, 100, true)], gaps: [.init(unitIndex: 1, packets: 4)],
        integrity: .damaged),
      Self.unit(
        4, [(1, 100, true)], gaps: [.init(unitIndex: 1, packets: nil)], integrity: .damaged),
      Self.unit(5, [(1, 100, true)]),
      // More than that would be a restart.
      Self.unit(
        6, [(1, 100, true)], gaps: [.init(unitIndex: 0, packets: 50_000)], integrity: .afterLoss),
    ]
    for unit in units { messages += try publication.messages(for: .unit(unit), limit: 1 << 20) }
    let packets = try Self.media(messages)
    #expect(Self.steps(packets) == [2, 1, 5, 1, 2, 1001])
    // The end of the fourth is missing.
    #expect(packets.map(\.marker) == [true, true, false, true, false, true, true])
    let conditions = messages.flatMap(\.headers).filter { $0.name == "Rtp-Condition" }
    #expect(
      conditions.map(\.value) == [
        "whole", "after-loss", "damaged", "damaged", "whole", "after-loss",
      ])
  }

  @Test func aUnitThatWasCutHasNoLastFragment() throws {
    var publication = Self.publication()
    _ = try publication.messages(for: .unit(Self.unit(1, [(5, 100, true)])), limit: 1 << 20)
    var messages = try publication.finish(limit: 1 << 20)
    messages += try publication.messages(
      for: .unit(
        Self.unit(
          2, [(1, 500, false)], gaps: [.init(unitIndex: 1, packets: 2)], integrity: .damaged)),
      limit: 1 << 20)
    messages += try publication.messages(
      for: .unit(Self.unit(3, [(1, 100, true)])), limit: 1 << 20)
    let packets = try Self.media(messages)
    #expect(packets.count == 3)
    // FU-A with a start and no end.
    let payload = Array(packets[1].bytes.readableBytesView.dropFirst(12))
    #expect(payload[0] & 0x1F == 28)
    #expect(payload[1] == 0x81)
    #expect(payload.count == 501)
    #expect(!packets[1].marker)
    #expect(Self.steps(packets) == [1, 4])
  }

  @Test(arguments: [600, 1500, 40_000, 1 << 20])
  func noMessageIsLargerThanItMayBe(limit: Int) throws {
    var publication = Self.publication()
    _ = try publication.messages(for: .unit(Self.unit(1, [(5, 300_000, true)])), limit: limit)
    let messages = try publication.finish(limit: limit)
    let pieces = messages.filter { $0.subject == .video }
    #expect(pieces.count >= 300_000 / min(limit, MessagePieces.mostBytes))
    #expect(pieces.allSatisfy { $0.payload.readableBytes <= min(limit, MessagePieces.mostBytes) })
    #expect(pieces.map(\.items) == pieces.indices.map { $0 == pieces.count - 1 ? 1 : 0 })
    let packets = try Self.media(messages)
    #expect(packets.dropLast().allSatisfy { !$0.marker })
    #expect(packets.last?.marker == true)
    let content = packets.reduce(0) { $0 + $1.payloadLength - 2 }
    #expect(content == 300_000 - 1)
    #expect(Self.steps(packets).allSatisfy { $0 == 1 })
  }

  @Test func aReportSaysWhenAKeyPictureWasTaken() throws {
    var publication = Self.publication()
    _ = try publication.messages(for: .unit(Self.unit(1, [(5, 100, true)])), limit: 1 << 20)
    let messages = try publication.finish(limit: 1 << 20)
    let all = try Self.packets(messages)
    let compound = try RTCPPacket.parse(compound: try #require(all.first))
    guard case .senderReport(let report) = compound.first else {
      Issue.record("no report: \(compound)")
      return
    }
    #expect(
      WallClockTime(ntpTime: report.ntpTime) == Self.start.advanced(byNanoseconds: 40_000_000))
    #expect(report.timestamp == 3600)
    #expect(try report.ssrc == Self.media(messages).first?.ssrc)
    #expect(compound.dropFirst().first == .sourceDescription([report.ssrc: "door"]))
  }

  private static let sounds: [(format: SoundFormat, rate: UInt32, map: String, head: Int)] = [
    (
      SoundFormat(codec: AAC.codec, sampleRate: 48_000, channels: 2, configuration: [0x11, 0x90]),
      48_000, "mpeg4-generic/48000/2", 4
    ),
    (SoundFormat(codec: Opus.codec, sampleRate: 48_000, channels: 1), 48_000, "opus/48000/2", 0),
    (SoundFormat(codec: G711.muLaw, sampleRate: 8000, channels: 1), 8000, "PCMU/8000", 0),
    (SoundFormat(codec: G711.aLaw, sampleRate: 8000, channels: 2), 8000, "PCMA/8000/2", 0),
    (SoundFormat(codec: G722.codec, sampleRate: 16_000, channels: 1), 8000, "G722/8000", 0),
    (
      SoundFormat(codec: G726.leastSignificantFirst, sampleRate: 8000, channels: 1, codeBits: 4),
      8000, "G726-32/8000", 0
    ),
    (
      SoundFormat(codec: G726.mostSignificantFirst, sampleRate: 8000, channels: 1, codeBits: 2),
      8000, "AAL2-G726-16/8000", 0
    ),
    (SoundFormat(codec: LinearPCM.l8, sampleRate: 8000, channels: 1), 8000, "L8/8000", 0),
    (SoundFormat(codec: LinearPCM.l16, sampleRate: 44_100, channels: 2), 44_100, "L16/44100/2", 0),
    (SoundFormat(codec: LinearPCM.l24, sampleRate: 48_000, channels: 2), 48_000, "L24/48000/2", 0),
  ]

  @Test(arguments: sounds.indices)
  func soundIsDescribedAndItsLossesAreLeftOut(number: Int) throws {
    let (format, rate, map, head) = Self.sounds[number]
    var publication = Self.publication()
    var messages: [Publication.Message] = []
    for (index, lost) in [0, 0, 3, 0].enumerated() {
      let arrival = Instant(nanoseconds: Int64(index) * 20_000_000)
      let unit = SoundUnit(
        format: format, bytes: ByteBuffer(repeating: 0x55, count: 120),
        time: MediaTime(ticks: Int64(index) * 160, timescale: rate), sampleCount: 160,
        firstArrival: arrival, lastArrival: arrival, lostBefore: lost)
      messages += try publication.messages(for: .sound(unit), limit: 1 << 20)
    }
    messages += try publication.finish(limit: 1 << 20)
    #expect(Self.text(messages).contains("a=rtpmap:97 \(map)\r\n"), "\(Self.text(messages))")
    let packets = try Self.media(messages)
    #expect(packets.map(\.payloadLength) == Array(repeating: 120 + head, count: 4))
    #expect(packets.map(\.timestamp) == [0, 160, 320, 480])
    #expect(Self.steps(packets) == [1, 4, 1])
    if head > 0 {
      // AU-headers-length of 16 bits, and 13 bits of size.
      #expect(
        Array(packets[0].bytes.readableBytesView.dropFirst(12).prefix(4)) == [0, 16, 3, 0xC0])
    }
  }

  /// A codec of another package.
  private static let other = VideoCodec(
    name: "other", encodingName: "OTHER", decoderName: "other", otherFileEndings: [],
    parameterSetTypes: [3, 4], unitType: { $0[0] },
    packetization: VideoCodec.Packetization(
      headerLength: 1, setParameters: ["sets"], fragmentIndicator: { [$0[0] | 0x40] }))

  /// A key picture with these NAL units.
  private static func keyPicture(of codec: VideoCodec, _ parts: [[UInt8]]) -> AccessUnit {
    var bytes = ByteBuffer()
    var units: [NALUnit] = []
    for part in parts {
      bytes.writeBytes([0, 0, 0, 1])
      let head = NALUnitHead(of: ByteBuffer(bytes: part))
      units.append(
        NALUnit(offset: bytes.writerIndex, length: part.count, type: codec.type(of: head)))
      bytes.writeBytes(part)
    }
    let arrival = Instant(nanoseconds: 0)
    return AccessUnit(
      codec: codec, bytes: bytes, units: units, time: MediaTime(ticks: 0, timescale: 90_000),
      firstArrival: arrival, lastArrival: arrival, isRandomAccess: true)
  }

  @Test(
    "parameter sets and fragments are of the codec, even of one that is not known here",
    arguments: [
      (
        H264.codec, [[0x68, 1], [0x67, 2]], [0x65],
        "packetization-mode=1;sprop-parameter-sets=ZwI=,aAE=", [0x7C, 0x85]
      ),
      (
        H265.codec, [[0x44, 1], [0x42, 1], [0x40, 1]], [0x26, 1],
        "sprop-vps=QAE=;sprop-sps=QgE=;sprop-pps=RAE=", [0x62, 1, 0x93]
      ),
      (other, [[3, 9]], [5], "sets=Awk=", [0x45, 0x85]),
    ] as [(VideoCodec, [[UInt8]], [UInt8], String, [UInt8])])
  func codecs(
    codec: VideoCodec, sets: [[UInt8]], header: [UInt8], parameters: String, fragment: [UInt8]
  ) throws {
    let slice = header + [UInt8](repeating: 7, count: 900)
    var publication = Self.publication()
    var messages = try publication.messages(
      for: .unit(Self.keyPicture(of: codec, sets + [slice])), limit: 512)
    messages += try publication.finish(limit: 512)
    #expect(Self.text(messages).contains("a=fmtp:96 \(parameters)\r\n"))
    let payloads = try Self.media(messages).map { Array($0.payload.readableBytesView) }
    #expect(Set(payloads.prefix(sets.count)) == Set(sets))
    let first = try #require(payloads.dropFirst(sets.count).first)
    #expect(Array(first.prefix(fragment.count)) == fragment)
    #expect(first.dropFirst(fragment.count).allSatisfy { $0 == 7 })
  }

  @Test func picturesThatCannotGoInRTPAreRefused() {
    let codec = VideoCodec(
      name: "mine", encodingName: "MINE", decoderName: "mine", otherFileEndings: [])
    #expect(throws: JetStreamError.unsupportedCodec("MINE")) { try PublishedVideo(codec) }
  }

  @Test func soundWithoutAPayloadFormatIsRefused() {
    let codec = SoundCodec(name: "other", decoderName: "other")
    #expect(throws: JetStreamError.unsupportedCodec("other")) {
      try PublishedSound(SoundFormat(codec: codec, sampleRate: 8000, channels: 1), clockRate: 8000)
    }
    #expect(throws: JetStreamError.unsupportedCodec("g726")) {
      try PublishedSound(
        SoundFormat(codec: G726.mostSignificantFirst, sampleRate: 8000, channels: 1, codeBits: 7),
        clockRate: 8000)
    }
  }

  @Test func picturesBeforeTheFirstKeyPictureAreLeftOut() throws {
    var publication = Self.publication()
    _ = try publication.messages(for: .unit(Self.unit(1, [(1, 100, true)])), limit: 1 << 20)
    #expect(try publication.finish(limit: 1 << 20).isEmpty)
    #expect(publication.skipped == 1)
  }
}
