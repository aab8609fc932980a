public import NIOCore

extension H264 {
  /// The part of a sequence parameter set that describes the pictures (§7.3.2.1.1, Annex E).
  public struct SequenceParameterSet: Sendable {
    public let identifier: Int
    public let format: FormatDescription
    /// The part that slice headers need.
    public let coding: CodingParameters
    /// Where it says how pictures are reordered; `nil` if it is cut before that.
    let reorderingPlace: ReorderingPlace?

    /// Places in bits behind the header, without emulation prevention.
    struct ReorderingPlace: Sendable, Hashable {
      /// Of `vui_parameters_present_flag`.
      var usability: Int
      /// Of `bitstream_restriction_flag`, if there is any usability information.
      var restriction: Int?
      /// Of `max_num_reorder_frames`, if there is one.
      var depth: Int?
      /// `max_num_ref_frames`.
      var references: Int
    }

    /// Reads `unit`, header included; ignores bits after the end of the set (Reolink cameras).
    ///
    /// - Throws: ``ParameterSetError`` when it ends early or a value is outside the standard's
    ///   range.
    public init(parsing unit: ByteBuffer) throws(ParameterSetError) {
      (identifier, format, coding, reorderingPlace) = try ParameterSetError.whileReading {
        try Self.read(unit)
      }
    }

    private static func read(
      _ unit: ByteBuffer
    ) throws -> (Int, FormatDescription, CodingParameters, ReorderingPlace?) {
      var reader = BitReader(unit.dropping(bytes: 1))
      let profile = UInt8(try reader.bits(8))
      let constraints = try reader.bits(8)
      let level = UInt8(try reader.bits(8))
      let identifier = try reader.unsigned(upTo: 31, "seq_parameter_set_id")

      let samples = highProfiles.contains(profile) ? try readSamples(&reader) : Samples()
      let frameNumberBits = 4 + (try reader.unsigned(upTo: 12, "log2_max_frame_num_minus4"))
      let order = try readOrder(&reader)
      let references = try reader.unsigned(upTo: 16, "max_num_ref_frames")
      let allowsGaps = try reader.bit()
      let columns = 1 + (try reader.unsigned(upTo: 1054, "pic_width_in_mbs_minus1"))
      let rows = 1 + (try reader.unsigned(upTo: 1054, "pic_height_in_map_units_minus1"))
      let framesOnly = try reader.bit()
      if !framesOnly { _ = try reader.bit() }
      _ = try reader.bit()

      let coded = (width: 16 * columns, height: 16 * rows * (framesOnly ? 1 : 2))
      let (width, height) = try readCropping(
        &reader, of: coded, samples: samples, framesOnly: framesOnly)
      var format = FormatDescription(
        codec: codec, width: width, height: height, profile: profile, level: level,
        chroma: samples.chroma, lumaBitDepth: samples.lumaDepth,
        chromaBitDepth: samples.chromaDepth, mayHaveFields: !framesOnly)
      // Without VUI: no reordering in streams without B pictures or of intra profiles (C.4.5.3,
      // E.2.1).
      let isIntraOnly = constraints & 0x10 != 0 && [44, 86, 100, 110, 122, 244].contains(profile)
      if order == .decoding || profile == 66 || isIntraOnly { format.reorderDepth = 0 }
      // Some senders cut the set within its VUI; the pictures are already described here.
      var place: ReorderingPlace? = ReorderingPlace(
        usability: reader.position, references: references)
      switch try? reader.bit() {
      case true?:
        do { try readUsability(&reader, into: &format, at: &place) } catch { place = nil }
      case false?: break
      case nil: place = nil
      }
      let blocks = columns * rows * (framesOnly ? 1 : 2)
      let capacity = maximumBlocks(level: level).map { max($0 / blocks, references, 1) }
      let coding = CodingParameters(
        frameNumberBits: frameNumberBits, allowsGaps: allowsGaps, order: order,
        isFramesOnly: framesOnly,
        reorderDepth: format.reorderDepth, capacity: capacity,
        hasSeparatePlanes: samples.hasSeparatePlanes,
        hasChroma: samples.chroma != .monochrome && !samples.hasSeparatePlanes)
      return (identifier, format, coding, place)
    }

    /// How samples are coded; as profiles have it whose sets do not say.
    private struct Samples {
      var chroma = FormatDescription.ChromaFormat.yuv420
      var hasSeparatePlanes = false
      var lumaDepth = 8
      var chromaDepth = 8
    }

    /// Chroma format, bit depths and scaling lists, which are skipped.
    private static func readSamples(_ reader: inout BitReader) throws -> Samples {
      var samples = Samples()
      let idc = try reader.unsigned(upTo: 3, "chroma_format_idc")
      samples.chroma = FormatDescription.ChromaFormat(rawValue: UInt8(idc)) ?? .yuv420
      if samples.chroma == .yuv444 { samples.hasSeparatePlanes = try reader.bit() }
      samples.lumaDepth = 8 + (try reader.unsigned(upTo: 6, "bit_depth_luma_minus8"))
      samples.chromaDepth = 8 + (try reader.unsigned(upTo: 6, "bit_depth_chroma_minus8"))
      _ = try reader.bit()
      if try reader.bit() {
        for list in 0..<(samples.chroma == .yuv444 ? 12 : 8) where try reader.bit() {
          try skipScalingList(&reader, size: list < 6 ? 16 : 64)
        }
      }
      return samples
    }

    /// The size that is shown of pictures of the size `coded`.
    private static func readCropping(
      _ reader: inout BitReader, of coded: (width: Int, height: Int), samples: Samples,
      framesOnly: Bool
    ) throws -> (width: Int, height: Int) {
      var (width, height) = coded
      try FormatDescription.check(width: width, height: height)
      guard try reader.bit() else { return coded }
      // Cropping is counted in chroma samples, and in field lines where fields are possible
      // (7-19).
      let isSubsampled = !samples.hasSeparatePlanes && samples.chroma != .monochrome
      let unitWidth = isSubsampled && samples.chroma != .yuv444 ? 2 : 1
      let unitHeight = (isSubsampled && samples.chroma == .yuv420 ? 2 : 1) * (framesOnly ? 1 : 2)
      let left = try reader.unsigned(upTo: width, "frame_crop_left_offset")
      let right = try reader.unsigned(upTo: width, "frame_crop_right_offset")
      let top = try reader.unsigned(upTo: height, "frame_crop_top_offset")
      let bottom = try reader.unsigned(upTo: height, "frame_crop_bottom_offset")
      width -= unitWidth * (left + right)
      height -= unitHeight * (top + bottom)
      try FormatDescription.check(width: width, height: height)
      return (width, height)
    }

    /// How the picture order count is coded.
    private static func readOrder(_ reader: inout BitReader) throws -> CodingParameters.Order {
      switch try reader.unsigned(upTo: 2, "pic_order_cnt_type") {
      case 0:
        return .lowBits(4 + (try reader.unsigned(upTo: 12, "log2_max_pic_order_cnt_lsb_minus4")))
      case 1:
        var cycle = CodingParameters.Cycle(
          tellsDifferences: !(try reader.bit()), offsetOfNonReference: Int(try reader.signed()),
          offsetFromTopToBottom: Int(try reader.signed()), offsets: [])
        for _ in 0..<(try reader.unsigned(upTo: 255, "num_ref_frames_in_pic_order_cnt_cycle")) {
          cycle.offsets.append(Int(try reader.signed()))
        }
        return .cycle(cycle)
      default: return .decoding
      }
    }

    /// Video usability information (E.1.1).
    private static func readUsability(
      _ reader: inout BitReader, into format: inout FormatDescription,
      at place: inout ReorderingPlace?
    ) throws {
      try reader.readAspectAndColour(into: &format)
      if try reader.bit() {
        let unitsInTick = try reader.bits(32)
        let timeScale = try reader.bits(32)
        // A frame lasts two ticks, because a tick is a field's duration.
        let (doubled, overflow) = unitsInTick.multipliedReportingOverflow(by: 2)
        if !overflow {
          format.frameRate = FormatDescription.frameRate(Rational(timeScale, doubled))
        }
        _ = try reader.bit()
      }
      var hasParameters = false
      for _ in 0..<2 where try reader.bit() {
        hasParameters = true
        try skipHypotheticalDecoder(&reader)
      }
      if hasParameters { _ = try reader.bit() }
      _ = try reader.bit()
      place?.restriction = reader.position
      if try reader.bit() {
        _ = try reader.bit()
        for _ in 0..<4 { _ = try reader.unsigned() }
        place?.depth = reader.position
        format.reorderDepth = try reader.unsigned(upTo: 16, "max_num_reorder_frames")
      }
    }

    /// `MaxDpbMbs` (table A-1); `nil` for an unknown level.
    private static func maximumBlocks(level: UInt8) -> Int? {
      switch level {
      case 9, 10: 396
      // Level 1b shares the number of level 1.1.
      case 11: 900
      case 12, 13, 20: 2376
      case 21: 4752
      case 22, 30: 8100
      case 31: 18_000
      case 32: 20_480
      case 40, 41: 32_768
      case 42: 34_816
      case 50: 110_400
      case 51, 52: 184_320
      case 60, 61, 62: 696_320
      default: nil
      }
    }

    private static func skipScalingList(_ reader: inout BitReader, size: Int) throws {
      var (last, next) = (Int64(8), Int64(8))
      for _ in 0..<size {
        if next != 0 {
          let delta = try reader.signed()
          guard (-128...127).contains(delta) else {
            throw ParameterSetError.outOfRange(field: "delta_scale")
          }
          next = (last + delta + 256) % 256
        }
        if next != 0 { last = next }
      }
    }

    private static func skipHypotheticalDecoder(_ reader: inout BitReader) throws {
      let count = 1 + (try reader.unsigned(upTo: 31, "cpb_cnt_minus1"))
      try reader.skip(8)
      for _ in 0..<count {
        _ = try reader.unsigned()
        _ = try reader.unsigned()
        _ = try reader.bit()
      }
      try reader.skip(20)
    }

    /// Profiles whose sets carry chroma format and bit depth (§7.3.2.1.1).
    private static let highProfiles: Set<UInt8> = [
      100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135,
    ]
  }
}
