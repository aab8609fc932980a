public import NIOCore

extension H265 {
  /// The part of a sequence parameter set that describes the pictures (§7.3.2.2, Annex E).
  public struct SequenceParameterSet: Sendable {
    public let identifier: Int
    public let format: FormatDescription
    /// `nil` when the part that slices need is cut off.
    public let coding: CodingParameters?
    /// Where, in bits behind the header, it begins to say how many pictures each sub-layer
    /// reorders, and for how many it does.
    let orderingPlace: (start: Int, layers: Int)

    /// Reads `unit`, header included; ignores bits after the end of the set.
    ///
    /// - Throws: ``ParameterSetError`` when it ends early or a value is outside the standard's
    ///   range.
    public init(parsing unit: ByteBuffer) throws(ParameterSetError) {
      (identifier, format, coding, orderingPlace) = try ParameterSetError.whileReading {
        try Self.read(unit)
      }
    }

    private static func read(
      _ unit: ByteBuffer
    ) throws -> (Int, FormatDescription, CodingParameters?, (start: Int, layers: Int)) {
      var reader = BitReader(unit.dropping(bytes: 2))
      _ = try reader.bits(4)
      let subLayers = Int(try reader.bits(3))
      guard subLayers < 7 else {
        throw ParameterSetError.outOfRange(field: "sps_max_sub_layers_minus1")
      }
      _ = try reader.bit()
      let (profile, level) = try readProfile(&reader, subLayers: subLayers)
      let identifier = try reader.unsigned(upTo: 15, "sps_seq_parameter_set_id")

      let idc = try reader.unsigned(upTo: 3, "chroma_format_idc")
      let chroma = FormatDescription.ChromaFormat(rawValue: UInt8(idc)) ?? .yuv420
      let separatePlanes = chroma == .yuv444 ? try reader.bit() : false
      let codedWidth = try reader.unsigned(upTo: 1 << 20, "pic_width_in_luma_samples")
      let codedHeight = try reader.unsigned(upTo: 1 << 20, "pic_height_in_luma_samples")
      var (width, height) = (codedWidth, codedHeight)
      if try reader.bit() {
        // The window is counted in chroma samples (§7.4.3.2.1).
        let isSubsampled = !separatePlanes && chroma != .monochrome
        let unitWidth = isSubsampled && chroma != .yuv444 ? 2 : 1
        let unitHeight = isSubsampled && chroma == .yuv420 ? 2 : 1
        for _ in 0..<2 {
          width -= unitWidth * (try reader.unsigned(upTo: codedWidth, "conf_win_offset"))
        }
        for _ in 0..<2 {
          height -= unitHeight * (try reader.unsigned(upTo: codedHeight, "conf_win_offset"))
        }
      }
      try FormatDescription.check(width: codedWidth, height: codedHeight)
      try FormatDescription.check(width: width, height: height)
      let lumaDepth = 8 + (try reader.unsigned(upTo: 8, "bit_depth_luma_minus8"))
      let chromaDepth = 8 + (try reader.unsigned(upTo: 8, "bit_depth_chroma_minus8"))
      var format = FormatDescription(
        codec: codec, width: width, height: height, profile: profile, level: level,
        chroma: chroma, lumaBitDepth: lumaDepth, chromaBitDepth: chromaDepth)

      let orderBits = 4 + (try reader.unsigned(upTo: 12, "log2_max_pic_order_cnt_lsb_minus4"))
      let layers = (try reader.bit() ? 0 : subLayers)...subLayers
      let place = (start: reader.position, layers: layers.count)
      for _ in layers {
        _ = try reader.unsigned(upTo: 15, "sps_max_dec_pic_buffering_minus1")
        format.reorderDepth = try reader.unsigned(upTo: 15, "sps_max_num_reorder_pics")
        _ = try reader.unsigned()
      }
      // Some senders cut the set somewhere below; the pictures are already described here.
      let coding = try? readCoding(
        &reader, width: codedWidth, height: codedHeight,
        chroma: separatePlanes ? .monochrome : chroma, hasSeparatePlanes: separatePlanes,
        orderBits: orderBits, reorderDepth: format.reorderDepth, profile: profile)
      if coding != nil { try? readUsability(&reader, into: &format) }
      return (identifier, format, coding, place)
    }

    /// `profile_tier_level` (§7.3.3).
    private static func readProfile(
      _ reader: inout BitReader, subLayers: Int
    ) throws -> (profile: UInt8, level: UInt8) {
      let profile = UInt8(try reader.bits(8) & 0x1F)
      try reader.skip(32 + 48)
      let level = UInt8(try reader.bits(8))
      var present: [(profile: Bool, level: Bool)] = []
      for _ in 0..<subLayers { present.append((try reader.bit(), try reader.bit())) }
      if subLayers > 0 { try reader.skip(2 * (8 - subLayers)) }
      for layer in present {
        if layer.profile { try reader.skip(88) }
        if layer.level { try reader.skip(8) }
      }
      return (profile, level)
    }

    /// Everything between the reorder depth and the VUI.
    private static func readCoding(
      _ reader: inout BitReader, width: Int, height: Int, chroma: FormatDescription.ChromaFormat,
      hasSeparatePlanes: Bool, orderBits: Int, reorderDepth: Int?, profile: UInt8
    ) throws -> CodingParameters {
      let smallest = 3 + (try reader.unsigned(upTo: 3, "log2_min_luma_coding_block_size_minus3"))
      let largest =
        smallest + (try reader.unsigned(upTo: 3, "log2_diff_max_min_luma_coding_block_size"))
      guard largest <= 6 else { throw ParameterSetError.outOfRange(field: "CtbLog2SizeY") }
      let smallestTransform =
        2 + (try reader.unsigned(upTo: 3, "log2_min_luma_transform_block_size_minus2"))
      let difference = try reader.unsigned(upTo: 3, "log2_diff_max_min_luma_transform_block_size")
      let largestTransform = smallestTransform + difference
      guard largestTransform <= 5 else {
        throw ParameterSetError.outOfRange(field: "MaxTbLog2SizeY")
      }
      _ = try reader.unsigned()
      let intraDepth = try reader.unsigned(upTo: 4, "max_transform_hierarchy_depth_intra")
      if try reader.bit(), try reader.bit() { try skipScalingLists(&reader) }
      _ = try reader.bit()
      let hasSampleOffsets = try reader.bit()
      let hasPulseCodeModulation = try reader.bit()
      if hasPulseCodeModulation {
        try reader.skip(8)
        _ = try reader.unsigned()
        _ = try reader.unsigned()
        _ = try reader.bit()
      }
      var sets: [ReferencePictureSet] = []
      for _ in 0..<(try reader.unsigned(upTo: 64, "num_short_term_ref_pic_sets")) {
        sets.append(try ReferencePictureSet(&reader, after: sets, isInSlice: false))
      }
      var longTerm: Int?
      if try reader.bit() {
        let count = try reader.unsigned(upTo: 32, "num_long_term_ref_pics_sps")
        try reader.skip(count * (orderBits + 1))
        longTerm = count
      }
      let hasTemporalMotion = try reader.bit()
      _ = try reader.bit()
      return CodingParameters(
        width: width, height: height, hasChroma: chroma != .monochrome,
        hasSeparatePlanes: hasSeparatePlanes, hasPairedChroma: chroma == .yuv422,
        orderBits: orderBits, reorderDepth: reorderDepth, log2SmallestBlock: smallest,
        log2TreeBlock: largest,
        log2SmallestTransform: smallestTransform, log2LargestTransform: largestTransform,
        intraTransformDepth: intraDepth, hasPulseCodeModulation: hasPulseCodeModulation,
        hasSampleOffsets: hasSampleOffsets, referencePictureSets: sets,
        longTermReferenceCount: longTerm, hasTemporalMotion: hasTemporalMotion,
        hasUsualTrees: profile <= 4)
    }

    private static func readUsability(
      _ reader: inout BitReader, into format: inout FormatDescription
    ) throws {
      guard try reader.bit() else { return }
      try reader.readAspectAndColour(into: &format)
      try reader.skip(3)
      if try reader.bit() {
        for _ in 0..<4 { _ = try reader.unsigned() }
      }
      if try reader.bit() {
        let unitsInTick = try reader.bits(32)
        format.frameRate = FormatDescription.frameRate(Rational(try reader.bits(32), unitsInTick))
      }
    }

    /// `scaling_list_data` (§7.3.4).
    public static func skipScalingLists(_ reader: inout BitReader) throws {
      for size in 0..<4 {
        for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
          guard try reader.bit() else {
            _ = try reader.unsigned(upTo: 5, "scaling_list_pred_matrix_id_delta")
            continue
          }
          if size > 1 { _ = try reader.signed() }
          for _ in 0..<min(64, 1 << (4 + (size << 1))) { _ = try reader.signed() }
        }
      }
    }
  }
}
