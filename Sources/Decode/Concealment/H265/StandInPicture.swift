import Bitstream
import Defragment
import NIOCore

/// A coded picture in which every coding unit is skipped: the decoder builds it from another
/// picture and continues that picture's motion (temporal motion prediction, H.265 §8.5.3.2.8).
///
/// Each coding tree block is a slice of its own, since merge candidates never come from another
/// slice. Its parameter set rules out candidates from the same block (`Log2ParMrgLevel`). So the
/// only candidate left is the temporal one.
struct StandInPicture {
  /// `SliceQpY`, which no coding unit uses.
  static let quantization = 26

  /// The identifier of the set that ``parameterSet(_:sequence:log2TreeBlock:)`` made.
  let parameterSet: Int
  let sequence: H265.CodingParameters
  let temporalLevel: UInt8
  /// The bits from `slice_pic_order_cnt_lsb` to the end of the reference picture sets, of which
  /// exactly one picture is used.
  let orderAndReferences: BitWriter

  /// The NAL units of all slices, in decoding order.
  func slices() -> [ByteBuffer] {
    let size = 1 << sequence.log2TreeBlock
    let header = H265.header(of: .trailR, temporalLevel: temporalLevel)
    var data: [SkippedTreeBlock: BitWriter] = [:]
    return (0..<sequence.blockCount).map { address in
      let (row, column) = address.quotientAndRemainder(dividingBy: sequence.columns)
      let block = SkippedTreeBlock(
        width: min(sequence.width - column * size, size),
        height: min(sequence.height - row * size, size), log2Size: sequence.log2TreeBlock,
        log2Smallest: sequence.log2SmallestBlock)
      let bits = data[block] ?? block.coded()
      data[block] = bits
      var writer = sliceHeader(address: address)
      writer.append(bits)
      return writer.unit(header: header)
    }
  }

  /// `slice_segment_header` (§7.3.6.1), byte aligned.
  private func sliceHeader(address: Int) -> BitWriter {
    var writer = BitWriter()
    writer.append(address == 0)
    writer.append(unsigned: UInt32(parameterSet))
    if address > 0 { writer.append(UInt32(address), bits: sequence.addressLength) }
    // slice_type P.
    writer.append(unsigned: 1)
    // pic_output_flag.
    writer.append(false)
    if sequence.hasSeparatePlanes { writer.append(0, bits: 2) }
    writer.append(orderAndReferences)
    if sequence.hasTemporalMotion { writer.append(true) }
    if sequence.hasSampleOffsets { writer.append(0, bits: sequence.hasChroma ? 2 : 1) }
    // num_ref_idx_active_override_flag is 0: the set's default of one reference picture holds.
    writer.append(false)
    // five_minus_max_num_merge_cand.
    writer.append(unsigned: 4)
    // slice_qp_delta.
    writer.append(signed: 0)
    writer.align()
    return writer
  }

  /// The smallest picture parameter set, for pictures that are not shown.
  static func parameterSet(
    _ identifier: Int, sequence: Int, log2TreeBlock: Int
  ) -> ByteBuffer {
    var writer = BitWriter()
    writer.append(unsigned: UInt32(identifier))
    writer.append(unsigned: UInt32(sequence))
    // No dependent slices; pic_output_flag is present; everything else is off up to
    // num_ref_idx_l0_default_active_minus1.
    writer.append(0b01_000_0_0, bits: 7)
    for _ in 0..<2 { writer.append(unsigned: 0) }
    writer.append(signed: Int32(quantization) - 26)
    // No constrained intra prediction, no transform skip, no quantization changes.
    writer.append(0, bits: 3)
    for _ in 0..<2 { writer.append(signed: 0) }
    // Everything from the slices' chroma offsets to loop filtering across slices is off.
    writer.append(0, bits: 7)
    // Deblocking is off, and slices cannot override that.
    writer.append(0b101, bits: 3)
    writer.append(0, bits: 2)
    writer.append(unsigned: UInt32(log2TreeBlock - 2))
    writer.append(0, bits: 2)
    writer.align()
    return writer.unit(header: H265.header(of: .pictureParameterSet, temporalLevel: 0))
  }
}
