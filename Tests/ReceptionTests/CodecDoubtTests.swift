import Bitstream
import Defragment
import NIOCore
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
