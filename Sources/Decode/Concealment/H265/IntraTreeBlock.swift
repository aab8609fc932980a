import Bitstream
import Defragment

/// The slice data of one coding tree block without neighbours and without residual, which decodes
/// to a single grey (H.265 §7.3.8).
struct IntraTreeBlock {
  private let sequence: H265.CodingParameters
  private let slices: H265.SliceParameters
  private var encoder = ArithmeticEncoder()
  /// `split_transform_flag`, `cbf_luma` and `cbf_chroma` for initType 0 (tables 9-20 to 9-22).
  private var split: [ArithmeticEncoder.Context]
  private var luma: [ArithmeticEncoder.Context]
  private var chroma: ArithmeticEncoder.Context

  /// `nil` where the block would have to be divided, or where the stream may use PCM samples.
  init?(of sequence: H265.CodingParameters, _ slices: H265.SliceParameters) {
    let size = 1 << sequence.log2TreeBlock
    guard sequence.width >= size, sequence.height >= size, !sequence.hasPulseCodeModulation else {
      return nil
    }
    self.sequence = sequence
    self.slices = slices
    func context(_ value: Int) -> ArithmeticEncoder.Context {
      ArithmeticEncoder.Context(value: value, quantization: slices.quantization)
    }
    split = [153, 138, 138].map(context)
    luma = [111, 141].map(context)
    chroma = context(94)
  }

  /// One coding unit as large as the block (§7.3.8.5).
  func coded() -> BitWriter {
    var coder = self
    coder.write()
    return coder.encoder.bits
  }

  private mutating func write() {
    func encode(_ bin: Bool, value: Int) {
      var context = ArithmeticEncoder.Context(value: value, quantization: slices.quantization)
      encoder.encode(bin, &context)
    }
    // split_cu_flag, cu_transquant_bypass_flag, and part_mode where the block has the smallest
    // size.
    let isSmallest = sequence.log2TreeBlock == sequence.log2SmallestBlock
    if !isSmallest { encode(false, value: 139) }
    if slices.hasTransquantBypass { encode(false, value: 154) }
    if isSmallest { encode(true, value: 184) }
    // prev_intra_luma_pred_flag, mpm_idx and intra_chroma_pred_mode: planar for luma and chroma.
    encode(true, value: 184)
    encoder.encodeEvenZero()
    if sequence.hasChroma { encode(false, value: 63) }
    writeTransforms(log2Size: sequence.log2TreeBlock, depth: 0)
    encoder.end()
  }

  /// `transform_tree` (§7.3.8.8) without any coded residual.
  private mutating func writeTransforms(log2Size: Int, depth: Int) {
    let isSplit = log2Size > sequence.log2LargestTransform
    if !isSplit, log2Size > sequence.log2SmallestTransform, depth < sequence.intraTransformDepth {
      encoder.encode(false, &split[5 - log2Size])
    }
    if sequence.hasChroma, depth == 0 {
      let count = sequence.hasPairedChroma && (!isSplit || log2Size == 3) ? 4 : 2
      for _ in 0..<count { encoder.encode(false, &chroma) }
    }
    guard isSplit else {
      encoder.encode(false, &luma[depth == 0 ? 1 : 0])
      return
    }
    for _ in 0..<4 { writeTransforms(log2Size: log2Size - 1, depth: depth + 1) }
  }
}
