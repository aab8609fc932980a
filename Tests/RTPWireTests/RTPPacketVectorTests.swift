import NIOCore
import RTPWire
import TestSupport
import Testing

/// Packets from the tests of pion/rtp, aiortc, androidx media, retina and libwebrtc, as data.
struct RTPPacketVector: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let packet: [UInt8]
  var marker: Bool?
  var payloadType: UInt8?
  var sequence: UInt16?
  var timestamp: UInt32?
  var ssrc: UInt32?
  var contributingSources: [UInt32] = []
  var profile: UInt16?
  var payload: String?
  var payloadLength: Int?
  var padding = 0

  init(_ name: String, _ packet: String, _ describe: (inout RTPPacketVector) -> Void) {
    testDescription = name
    self.packet = bytes(packet)
    describe(&self)
  }
}

private let pionHeader = "e0698f d9c293da 1c642782"
private let silence = String(repeating: "ff", count: 160)

private let goodPackets: [RTPPacketVector] = [
  .init("an extension of profile 1", "90\(pionHeader) 00010001 ffffffff 9836be889e") {
    $0.marker = true
    $0.payloadType = 96
    $0.sequence = 27023
    $0.timestamp = 3_653_407_706
    $0.ssrc = 476_325_762
    $0.profile = 1
    $0.payload = "9836be889e"
  },
  .init("four bytes of padding", "b0\(pionHeader) 00010001 ffffffff 98 36be8804") {
    $0.profile = 1
    $0.payload = "98"
    $0.padding = 4
  },
  .init("nothing but padding", "b0\(pionHeader) 00010001 ffffffff 9836be8805") {
    $0.profile = 1
    $0.payload = ""
    $0.padding = 5
  },
  .init("a one-byte element", "90\(pionHeader) bede0001 50aa0000 9836be889e") {
    $0.profile = 0xBEDE
    $0.payload = "9836be889e"
  },
  .init("two one-byte elements", "90\(pionHeader) bede0001 10aa20bb 9836be889e") {
    $0.profile = 0xBEDE
  },
  .init(
    "one-byte elements with padding between",
    "90\(pionHeader) bede0003 10aa21bbbb000033cccccccc 9836be889e"
  ) {
    $0.profile = 0xBEDE
  },
  .init(
    "two-byte elements with padding between",
    "90\(pionHeader) 10000003 01000201bb000304cccccccc 9836be889e"
  ) {
    $0.profile = 0x1000
    $0.payload = "9836be889e"
  },
  .init("audio without anything special", "80003d7f eaaa63f4 f01b40e9 \(silence)") {
    $0.payloadType = 0
    $0.sequence = 15743
    $0.timestamp = 3_937_035_252
    $0.payloadLength = 160
  },
  .init("a telephone event", "80e55e58 efb0f6bc a6a144f2 018a03c0") {
    $0.marker = true
    $0.payloadType = 101
    $0.sequence = 24152
    $0.timestamp = 4_021_352_124
    $0.payloadLength = 4
  },
  .init(
    "probing with padding alone",
    "a0786c6f f10b431b a91fbcbe \(String(repeating: "5a", count: 223)) e0"
  ) {
    $0.payloadType = 120
    $0.sequence = 27759
    $0.timestamp = 4_044_047_131
    $0.payloadLength = 0
    $0.padding = 224
  },
  .init(
    "probing with padding and the send time",
    "b062567a bd029f83 597eaf6d bede0001 22f1cc8c \(String(repeating: "00", count: 223)) e0"
  ) {
    $0.payloadType = 98
    $0.sequence = 22138
    $0.profile = 0xBEDE
    $0.payloadLength = 0
    $0.padding = 224
  },
  .init("two contributing sources", "82003ed2 00000090 5fbd169e abcdef01 deadbeef \(silence)") {
    $0.sequence = 16082
    $0.timestamp = 144
    $0.contributingSources = [0xABCD_EF01, 0xDEAD_BEEF]
    $0.payloadLength = 160
  },
  .init(
    "the media identification of a browser",
    "90ef374c 4f1ba1ad f3753f70 bede0001 90300000 \(String(repeating: "78", count: 54))"
  ) {
    $0.marker = true
    $0.payloadType = 111
    $0.sequence = 14156
    $0.timestamp = 1_327_210_925
    $0.profile = 0xBEDE
    $0.payloadLength = 54
  },
  .init("a timestamp above 2^31", "80e07232 dbdce1fa f5fe62a4 419a246c43bffea996") {
    $0.marker = true
    $0.sequence = 29234
    $0.timestamp = 3_688_686_074
    $0.ssrc = 4_127_089_316
    $0.payload = "419a246c43bffea996"
  },
  .init(
    "Hikvision's private extension",
    "9060f04a 77359400 35ff2773 00a20003 a94f000062150100cbca0100 7c85b841bc439048"
  ) {
    $0.marker = false
    $0.sequence = 61514
    $0.timestamp = 2_000_000_000
    $0.ssrc = 905_914_227
    $0.profile = 0x00A2
    $0.payload = "7c85b841bc439048"
  },
  .init(
    "ONVIF's replay extension",
    "90604c62 01bb3cb5 1c0415b1 abac0003 000000000000000000000000 67640032ac3c6b817c05"
  ) {
    $0.profile = 0xABAC
    $0.payload = "67640032ac3c6b817c05"
  },
  .init(
    "padding, an extension and two contributing sources",
    "b2641234 65431278 12345678 34567890 32435465 bede0001 120056ce "
      + "7061796c6f6164 70616464696e6708"
  ) {
    $0.payloadType = 100
    $0.contributingSources = [0x3456_7890, 0x3243_5465]
    $0.profile = 0xBEDE
    $0.payload = "7061796c6f6164"
    $0.padding = 8
  },
  .init(
    "an element of number 0 with a length",
    "90641234 65431278 12345678 bede0003 120056ce0002000090da0000"
  ) {
    $0.profile = 0xBEDE
    $0.payload = ""
  },
  .init(
    "an element of the reserved number 15",
    "90641234 65431278 12345678 bede0003 120056ce00f0000090da0000"
  ) {
    $0.profile = 0xBEDE
    $0.payload = ""
  },
]

private let badPackets: [(String, String, RTPPacketError)] = [
  ("an empty datagram", "", .truncatedHeader(needed: 12, available: 0)),
  ("eleven bytes", "80003d7f eaaa63f4 f01b40", .truncatedHeader(needed: 12, available: 11)),
  ("version 3", "c0003d7f eaaa63f4 f01b40e9 ffff", .version(3)),
  (
    "a padding count of 0", "b0\(pionHeader) 00010001 ffffffff 9836be8800",
    .padding(count: 0, available: 5)
  ),
  (
    "a padding count above the rest", "b0\(pionHeader) 00010001 ffffffff 9836be8806",
    .padding(count: 6, available: 5)
  ),
  (
    "padding longer than the packet", "a0786c6f f10b431b a91fbcbe 02",
    .padding(count: 2, available: 1)
  ),
  (
    "one byte of padding that counts 0", "a0786c6f f10b431b a91fbcbe 00",
    .padding(count: 0, available: 1)
  ),
  (
    "the padding bit and nothing behind", "a0786c6f f10b431b a91fbcbe",
    .padding(count: 0, available: 0)
  ),
  (
    "an announced extension that is missing", "90606 98f d9c293da 1c642782",
    .truncatedExtension(needed: 16, available: 12)
  ),
  (
    "an extension longer than the packet", "9060698f d9c293da 1c642782 99999999",
    .truncatedExtension(needed: 16 + 4 * 0x9999, available: 16)
  ),
  (
    "half an extension header", "90ef374c 4f1ba1ad f3753f70 bede00",
    .truncatedExtension(needed: 16, available: 15)
  ),
  (
    "an extension header alone", "90ef374c 4f1ba1ad f3753f70 bede0001",
    .truncatedExtension(needed: 20, available: 16)
  ),
  (
    "an extension cut by a byte", "90ef374c 4f1ba1ad f3753f70 bede0001 903000",
    .truncatedExtension(needed: 20, available: 19)
  ),
  (
    "no contributing source of two", "82003ed2 00000090 5fbd169e",
    .truncatedContributingSources(needed: 20, available: 12)
  ),
  (
    "one contributing source of two", "82003ed2 00000090 5fbd169e abcdef01",
    .truncatedContributingSources(needed: 20, available: 16)
  ),
  (
    "contributing sources cut by a byte", "82003ed2 00000090 5fbd169e abcdef01 deadbe",
    .truncatedContributingSources(needed: 20, available: 19)
  ),
]

@Suite struct RTPPacketVectorTests {
  @Test(arguments: goodPackets)
  func isRead(_ vector: RTPPacketVector) throws {
    for delivery in deliveries(of: vector.packet) {
      let packet = try RTPPacket(parsing: delivery)
      #expect(vector.marker.map { $0 == packet.marker } ?? true)
      #expect(vector.payloadType.map { $0 == packet.payloadType } ?? true)
      #expect(vector.sequence.map { $0 == packet.sequenceNumber.rawValue } ?? true)
      #expect(vector.timestamp.map { $0 == packet.timestamp } ?? true)
      #expect(vector.ssrc.map { $0 == packet.ssrc } ?? true)
      #expect(packet.contributingSources == vector.contributingSources)
      #expect(packet.contributingSourceCount == vector.contributingSources.count)
      #expect(packet.extensionProfile == vector.profile)
      #expect(packet.paddingLength == vector.padding)
      if let payload = vector.payload {
        #expect(packet.payload == ByteBuffer(bytes: bytes(payload)))
      }
      #expect(vector.payloadLength.map { $0 == packet.payloadLength } ?? true)
      #expect(packet.payload.readableBytes == packet.payloadLength)
    }
  }

  @Test(arguments: goodPackets)
  func isTheSameInStorageOfItsOwn(_ vector: RTPPacketVector) throws {
    for delivery in deliveries(of: vector.packet) {
      let packet = try RTPPacket(parsing: delivery)
      let detached = packet.detached()
      #expect(detached.bytes == packet.bytes)
      #expect(detached.bytes.storageCapacity <= max(16, 2 * vector.packet.count))
      #expect(detached.payload == packet.payload)
      #expect(detached.extensionData == packet.extensionData)
      #expect(detached.contributingSources == packet.contributingSources)
      #expect(detached.sequenceNumber == packet.sequenceNumber)
      #expect(detached.timestamp == packet.timestamp)
      #expect(detached.ssrc == packet.ssrc)
      #expect(detached.marker == packet.marker)
      #expect(detached.payloadType == packet.payloadType)
      #expect(detached.extensionProfile == packet.extensionProfile)
      #expect(detached.paddingLength == packet.paddingLength)
    }
  }

  @Test(arguments: badPackets)
  func isRefused(_ name: String, _ packet: String, _ expected: RTPPacketError) {
    for delivery in deliveries(of: bytes(packet)) {
      #expect(throws: expected, "\(name)") { try RTPPacket(parsing: delivery) }
    }
  }
}
