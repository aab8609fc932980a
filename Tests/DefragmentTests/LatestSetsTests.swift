import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// What is kept of the parameter sets of a stream, for who begins in the middle of it.
@Suite("The latest parameter sets")
struct LatestSetsTests {
  private static let sequenceSet = ByteBuffer(bytes: Material.h264.parameterSets[0])

  /// A picture parameter set of H.264 (§7.3.2.2), with so many bytes behind what it has to say.
  private static func pictureSet(
    _ identifier: UInt32, of sequence: UInt32 = 0, quantization: Int32 = 0, padding: Int = 0
  ) -> ByteBuffer {
    var writer = Bitstream.BitWriter()
    for number in [identifier, sequence] { writer.append(unsigned: number) }
    // entropy_coding_mode_flag and bottom_field_pic_order_in_frame_present_flag.
    writer.append(0, bits: 2)
    // num_slice_groups_minus1, and the lengths of the reference lists.
    for _ in 0..<3 { writer.append(unsigned: 0) }
    // weighted_pred_flag and weighted_bipred_idc.
    writer.append(0, bits: 3)
    for value in [quantization, 0, 0] { writer.append(signed: value) }
    // Three flags.
    writer.append(0, bits: 3)
    for _ in 0..<padding { writer.append(0xFF, bits: 8) }
    writer.align()
    return writer.unit(header: [0x68])
  }

  private static func unit(
    _ parts: [ByteBuffer], of codec: VideoCodec = H264.codec, isWhole: Bool = true
  ) -> AccessUnit {
    var bytes = ByteBuffer()
    var units: [NALUnit] = []
    for part in parts {
      bytes.writeBytes([0, 0, 0, 1])
      let type = codec.type(of: NALUnitHead(of: part))
      units.append(
        NALUnit(
          offset: bytes.writerIndex, length: part.readableBytes, type: type, isWhole: isWhole))
      bytes.writeImmutableBuffer(part)
    }
    return AccessUnit(
      codec: codec, bytes: bytes, units: units, time: MediaTime(ticks: 0, timescale: 90_000),
      firstArrival: Instant(nanoseconds: 0), lastArrival: Instant(nanoseconds: 0))
  }

  @Test("a picture parameter set that each key picture changes displaces itself alone")
  func changing() {
    var latest = LatestSets()
    latest.take(Self.unit([Self.sequenceSet, Self.pictureSet(1)]))
    for quantization in -20..<20 as Range<Int32> {
      for _ in 0..<5 {
        latest.take(Self.unit([Self.pictureSet(0, quantization: quantization)]))
      }
    }
    #expect(
      latest.all == [Self.sequenceSet, Self.pictureSet(0, quantization: 19), Self.pictureSet(1)])
    // Another one of that number, for another sequence.
    latest.take(Self.unit([Self.pictureSet(0, of: 3)]))
    #expect(latest.all == [Self.sequenceSet, Self.pictureSet(0, of: 3), Self.pictureSet(1)])
  }

  @Test(
    "sets in the wrong order, in units or beside them, come in the right one",
    arguments: Material.all)
  func order(_ material: Material) {
    let sets = material.parameterSets.map { ByteBuffer(bytes: $0) }
    var latest = LatestSets()
    for set in sets.reversed() { latest.take(Self.unit([set], of: material.codec)) }
    #expect(latest.all == sets)
    var beside = LatestSets()
    beside.take(sets.reversed(), of: material.codec)
    #expect(beside.all == sets)
  }

  @Test("a set that is cut, malformed or longer than any, and what is no set, are not kept")
  func useless() throws {
    let pictureSet = Self.pictureSet(0)
    let kept = [Self.sequenceSet, pictureSet]
    var latest = LatestSets()
    latest.take(Self.unit(kept))
    latest.take(Self.unit([Self.pictureSet(0, quantization: 5)], isWhole: false))
    latest.take(Self.unit([ByteBuffer(bytes: [0x68, 0]), ByteBuffer(bytes: [0x67, 0x4D])]))
    latest.take(Self.unit([Self.pictureSet(0, padding: 17_000)]))
    latest.take([Self.pictureSet(0, padding: 17_000)], of: H264.codec)
    // An extension of a sequence parameter set, a subset of one, and a slice.
    let others = [[0x6D, 0x80], [0x6F, 0x4D, 0x40, 0x1E, 0x9A], Material.h264.keySlice]
    latest.take(Self.unit(others.map { ByteBuffer(bytes: $0) }))
    #expect(latest.all == kept)
  }

  @Test("sets to fill the memory with, each of another number")
  func many() {
    var latest = LatestSets()
    latest.take(Self.unit([Self.sequenceSet]))
    for identifier in 0..<256 as Range<UInt32> {
      latest.take(Self.unit([Self.pictureSet(identifier, padding: 16_000)]))
    }
    let bytes = latest.all.reduce(0) { $0 + $1.readableBytes }
    #expect(bytes <= 512 << 10)
    #expect(latest.all.first == Self.sequenceSet)
    // Those that are known may still change.
    let other = Self.pictureSet(0, quantization: 3)
    latest.take(Self.unit([other]))
    #expect(latest.all.contains(other))
  }
}
