import Bitstream
import Defragment
import NIOCore

/// An intra slice of one coding tree block, which replaces a lost first slice (H.265 §7.3.6.1):
/// libavcodec begins a picture only with a first slice.
///
/// It uses the parameter set of the picture's other slices, since libavcodec refuses a change.
struct PictureBeginning {
  let type: H265.NALUnitType
  let temporalLevel: UInt8
  let isShown: Bool
  let picture: H265.PictureParameterSet
  let sequence: H265.CodingParameters
  /// The bits from `slice_pic_order_cnt_lsb` to the end of the reference picture sets, as the other
  /// slices have them.
  let orderAndReferences: BitWriter

  /// The NAL unit and the side of its block in luma samples; `nil` where it cannot be made.
  func unit() -> (bytes: ByteBuffer, side: Int)? {
    guard let slices = picture.slices, let block = IntraTreeBlock(of: sequence, slices) else {
      return nil
    }
    var writer = header(slices)
    writer.append(block.coded())
    let header = H265.header(of: type, temporalLevel: temporalLevel)
    return (writer.unit(header: header), 1 << sequence.log2TreeBlock)
  }

  private func header(_ slices: H265.SliceParameters) -> BitWriter {
    var writer = BitWriter()
    // first_slice_segment_in_pic_flag, and no_output_of_prior_pics_flag.
    writer.append(true)
    if type.rawValue >= 16 { writer.append(false) }
    writer.append(unsigned: UInt32(picture.identifier))
    writer.append(0, bits: picture.extraHeaderBits)
    // slice_type I, and pic_output_flag.
    writer.append(unsigned: 2)
    if picture.hasOutputFlag { writer.append(isShown) }
    if sequence.hasSeparatePlanes { writer.append(0, bits: 2) }
    if type != .idrWRADL, type != .idrNLP {
      writer.append(orderAndReferences)
      if sequence.hasTemporalMotion { writer.append(false) }
    }
    if sequence.hasSampleOffsets { writer.append(0, bits: sequence.hasChroma ? 2 : 1) }
    // slice_qp_delta, and the chroma offsets.
    for _ in 0..<(slices.hasChromaOffsets ? 3 : 1) { writer.append(signed: 0) }
    if slices.hasDeblockingOverride { writer.append(false) }
    if slices.tellsSmoothing { writer.append(false) }
    if slices.hasEntryPoints { writer.append(unsigned: 0) }
    if slices.hasHeaderExtension { writer.append(unsigned: 0) }
    writer.align()
    return writer
  }
}
