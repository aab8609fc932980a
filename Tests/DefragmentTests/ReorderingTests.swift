import Bitstream
import NIOCore
import TestSupport
import Testing

/// Parameter sets that say that nothing is reordered, for browsers.
struct ReorderingTests {
  @Test("everything else in the set stays", arguments: EncodedSet.all)
  func rewritten(_ example: EncodedSet) throws {
    let set = ByteBuffer(bytes: TestSupport.bytes(example.set))
    guard let rewritten = example.codec.withoutReordering(set) else {
      #expect(example.expected.reorderDepth == 0)
      return
    }
    #expect(rewritten != set)
    var expected = example.expected
    expected.reorderDepth = 0
    #expect(try Self.format(of: rewritten, example.codec) == expected)
    // It is done once.
    #expect(example.codec.withoutReordering(rewritten) == nil)
  }

  @Test("a set that says nothing of it gets the words for it", arguments: [false, true])
  func added(hasUsability: Bool) throws {
    var writer = Bitstream.BitWriter()
    // Main profile, level 2, the order by its low bits, two reference pictures, 320x240.
    for byte in [77, 0, 20] as [UInt32] { writer.append(byte, bits: 8) }
    for value in [0, 0, 0, 0, 2] as [UInt32] { writer.append(unsigned: value) }
    writer.append(false)
    for value in [19, 14] as [UInt32] { writer.append(unsigned: value) }
    for bit in [true, true, false, hasUsability] { writer.append(bit) }
    if hasUsability { writer.append(0, bits: 9) }
    writer.align()
    let set = writer.unit(header: [0x67])
    #expect(try H264.SequenceParameterSet(parsing: set).format.reorderDepth == nil)
    let rewritten = try #require(H264.codec.withoutReordering(set))
    let parsed = try H264.SequenceParameterSet(parsing: rewritten)
    #expect(parsed.format.reorderDepth == 0)
    #expect((parsed.format.width, parsed.format.height) == (320, 240))
  }

  @Test("a set that is cut anywhere is left as it is, or can be read", arguments: EncodedSet.all)
  func cut(_ example: EncodedSet) {
    let bytes = TestSupport.bytes(example.set)
    for length in 0..<bytes.count {
      let cut = ByteBuffer(bytes: bytes.prefix(length))
      guard let rewritten = example.codec.withoutReordering(cut) else { continue }
      #expect(throws: Never.self) { try Self.format(of: rewritten, example.codec) }
    }
  }

  @Test("other units are none", arguments: [H264.codec, H265.codec])
  func others(_ codec: VideoCodec) {
    for bytes in [[], [0x68], [0x44, 1, 2, 3], [0x65, 0x88, 0x84]] as [[UInt8]] {
      #expect(codec.withoutReordering(ByteBuffer(bytes: bytes)) == nil)
      #expect(codec.codecsParameter(of: [ByteBuffer(bytes: bytes)]) == nil)
    }
  }

  @Test(
    "what browsers call the coding",
    arguments: [
      (H264.codec, "6742c028da01e0089f970110000003001000000303c0f1832a", "avc1.42c028"),
      (H264.codec, "67f4000d919b282a10f1f1fff80f200f18800001f480007530078a14cb", "avc1.f4000d"),
      // Main profile, level 3.1, progressive, frames only: as GPAC and Apple name it.
      (
        H265.codec,
        "42010101600000030090000003000003005da00280802d165959a4932bc05a02000003000200"
          + "00030032", "hvc1.1.6.L93.90"
      ),
    ])
  func name(_ codec: VideoCodec, _ set: String, _ name: String) {
    #expect(codec.codecsParameter(of: [ByteBuffer(bytes: TestSupport.bytes(set))]) == name)
  }

  private static func format(of set: ByteBuffer, _ codec: VideoCodec) throws -> FormatDescription {
    codec == H265.codec
      ? try H265.SequenceParameterSet(parsing: set).format
      : try H264.SequenceParameterSet(parsing: set).format
  }
}
