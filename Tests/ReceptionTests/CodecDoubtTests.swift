import Bitstream
import Defragment
import NIOCore
import RTPSend
import TestSupport
import Testing

@testable import Reception

struct CodecDoubtTests {
  /// A fragment of a slice, as nothing but its own codec has it.
  private static let fragments: [(codec: VideoCodec, payload: [UInt8])] = [
    (H264.codec, [0x7C, 0x05, 1, 2, 3]), (H265.codec, [0x62, 0x01, 0x13, 1, 2]),
  ]

  @Test("ten payloads of another codec contradict what was said", arguments: fragments)
  func contradiction(fragment: (codec: VideoCodec, payload: [UInt8])) {
    for said in [H264.codec, H265.codec] {
      var doubt = CodecDoubt(said, among: .standard)
      for _ in 0..<9 { doubt.observe(ByteBuffer(bytes: fragment.payload)) }
      #expect(doubt.other == nil)
      doubt.observe(ByteBuffer(bytes: fragment.payload))
      #expect(doubt.other == (said == fragment.codec ? nil : fragment.codec))
    }
  }

  /// How a sender puts NAL units into packets.
  enum Packing: String, CaseIterable, Sendable {
    case single, aggregates, fragments
  }

  /// What comes between two key pictures, without parameter sets.
  private static func payloads(of codec: Codec, packed packing: Packing) -> [ByteBuffer] {
    let heads: [[UInt8]] =
      codec == .h264
      ? [[0x06, 0x05], [0x41, 0x9A], [0x01, 0x9E]]
      : [[0x4E, 0x01, 0x05], [0x02, 0x01, 0xD0], [0x00, 0x01, 0xE0]]
    var random = SeededGenerator(seed: 7)
    var packetizer = Packetization.nonInterleaved.packetizer(
      for: codec, payloadLimit: packing == .fragments ? 40 : 1400,
      aggregates: packing == .aggregates)
    var payloads: [ByteBuffer] = []
    for number in Int64(0)..<400 {
      var units: [ByteBuffer] = []
      for head in heads {
        var unit = ByteBuffer(bytes: head)
        unit.writeBytes(random.bytes(60))
        units.append(unit)
      }
      let picture = SourceAccessUnit(
        units: units, presentationTicks: number * 3600, decodingTicks: number * 3600,
        isRandomAccess: false)
      for payload in packetizer.packetize(picture) { payloads.append(payload.bytes) }
    }
    return payloads
  }

  @Test(
    "a stream of the codec that was said is never doubted",
    arguments: Codec.allCases, Packing.allCases)
  func sameCodec(codec: Codec, packing: Packing) throws {
    let said = try #require(FormatCatalogue.standard.codec(encodingName: codec.encodingName))
    var doubt = CodecDoubt(said, among: .standard)
    var looks = 0
    var outcome = CodecDoubt.Outcome.open
    for payload in Self.payloads(of: codec, packed: packing) where outcome == .open {
      outcome = doubt.observe(payload)
      looks += 1
      #expect(doubt.other == nil, "after \(looks)")
    }
    #expect(outcome == .confirmed)
    // Single NAL units prove nothing, and are not looked at for ever.
    if packing == .single { #expect(looks == 1000) } else { #expect(looks < 10) }
  }

  @Test("an intact picture proves the codec that was said, unless the payloads rule it out")
  func pictures() {
    var right = CodecDoubt(H264.codec, among: .standard)
    var wrong = CodecDoubt(H265.codec, among: .standard)
    let slice = ByteBuffer(bytes: [0x41, 0x9A, 1, 2])
    for _ in 0..<9 {
      right.observe(slice)
      wrong.observe(slice)
    }
    #expect(!right.isSettledByPicture)
    right.observe(slice)
    wrong.observe(slice)
    #expect(right.isSettledByPicture)
    #expect(!wrong.isSettledByPicture)
  }

  @Test("what is encrypted contradicts nobody", arguments: UInt64(1)...20)
  func ciphertext(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var doubts = [H264.codec, H265.codec].map { CodecDoubt($0, among: .standard) }
    for _ in 0..<200 {
      var payload = ByteBuffer()
      for _ in 0..<40 { payload.writeInteger(random.next()) }
      for index in doubts.indices {
        doubts[index].observe(payload)
        #expect(doubts[index].other == nil)
      }
    }
  }
}
