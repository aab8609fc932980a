public import NIOCore

extension H265 {
  /// The part of a picture parameter set that the beginning of slice headers needs (§7.3.2.3).
  public struct PictureParameterSet: Sendable {
    public let identifier: Int
    public let sequenceIdentifier: Int
    public let hasDependentSlices: Bool
    public let hasOutputFlag: Bool
    public let extraHeaderBits: Int
    /// What the rest of the slice headers needs; `nil` when it cannot be read.
    public let slices: SliceParameters?

    /// Reads `unit`, header included.
    ///
    /// - Throws: when it ends early or a value is outside the standard's range.
    public init(parsing unit: ByteBuffer) throws {
      var reader = BitReader(unit.dropping(bytes: 2))
      identifier = try Self.readIdentifier(&reader)
      sequenceIdentifier = try Self.readSequenceIdentifier(&reader)
      hasDependentSlices = try reader.bit()
      hasOutputFlag = try reader.bit()
      extraHeaderBits = Int(try reader.bits(3))
      slices = try? SliceParameters(&reader)
    }

    /// The identifier of `unit`, of which nothing else need be readable.
    public static func identifier(of unit: ByteBuffer) -> Int? {
      var reader = BitReader(unit.dropping(bytes: 2))
      return try? readIdentifier(&reader)
    }

    /// The identifier of the sequence parameter set that `unit` names.
    public static func sequenceIdentifier(of unit: ByteBuffer) -> Int? {
      var reader = BitReader(unit.dropping(bytes: 2))
      guard (try? readIdentifier(&reader)) != nil else { return nil }
      return try? readSequenceIdentifier(&reader)
    }

    private static func readIdentifier(_ reader: inout BitReader) throws -> Int {
      try reader.unsigned(upTo: 63, "pps_pic_parameter_set_id")
    }

    private static func readSequenceIdentifier(_ reader: inout BitReader) throws -> Int {
      try reader.unsigned(upTo: 15, "pps_seq_parameter_set_id")
    }
  }

  /// The part of a picture parameter set that intra slices need (§7.3.2.3, §7.3.6.1).
  public struct SliceParameters: Sendable {
    /// `SliceQpY` of a slice that does not change it.
    public let quantization: Int
    public let hasChromaOffsets: Bool
    public let hasTransquantBypass: Bool
    /// Whether slice data may have entry points, for tiles or rows.
    public let hasEntryPoints: Bool
    /// Whether rows of coding tree blocks can be decoded at the same time
    /// (`entropy_coding_sync_enabled_flag`).
    public let hasParallelRows: Bool
    /// Whether slices say if the loop filter crosses their edges.
    public let tellsSmoothing: Bool
    public let hasDeblockingOverride: Bool
    public let hasHeaderExtension: Bool

    /// Reads what follows `num_extra_slice_header_bits`.
    ///
    /// - Throws: when it ends early, a value is outside the standard's range, or an extension may
    ///   add fields to slice headers.
    public init(_ reader: inout BitReader) throws {
      // sign_data_hiding_enabled_flag and cabac_init_present_flag.
      try reader.skip(2)
      for _ in 0..<2 { _ = try reader.unsigned(upTo: 14, "num_ref_idx_default_active_minus1") }
      quantization = 26 + Int(try reader.signed())
      // constrained_intra_pred_flag and transform_skip_enabled_flag.
      try reader.skip(2)
      if try reader.bit() { _ = try reader.unsigned(upTo: 3, "diff_cu_qp_delta_depth") }
      for _ in 0..<2 { _ = try reader.signed() }
      hasChromaOffsets = try reader.bit()
      // weighted_pred_flag and weighted_bipred_flag.
      try reader.skip(2)
      hasTransquantBypass = try reader.bit()
      let hasTiles = try reader.bit()
      let hasRows = try reader.bit()
      hasEntryPoints = hasTiles || hasRows
      hasParallelRows = hasRows
      if hasTiles { try Self.skipTiles(&reader) }
      let isSmoothed = try reader.bit()
      var (hasOverride, isDisabled) = (false, false)
      if try reader.bit() {
        hasOverride = try reader.bit()
        isDisabled = try reader.bit()
        if !isDisabled { for _ in 0..<2 { _ = try reader.signed() } }
      }
      hasDeblockingOverride = hasOverride
      tellsSmoothing = isSmoothed && !isDisabled
      if try reader.bit() { try SequenceParameterSet.skipScalingLists(&reader) }
      // lists_modification_present_flag.
      _ = try reader.bit()
      _ = try reader.unsigned(upTo: 4, "log2_parallel_merge_level_minus2")
      hasHeaderExtension = try reader.bit()
      guard try !reader.bit() else {
        throw ParameterSetError.outOfRange(field: "pps_extension_present_flag")
      }
    }

    private static func skipTiles(_ reader: inout BitReader) throws {
      let columns = try reader.unsigned(upTo: 19, "num_tile_columns_minus1")
      let rows = try reader.unsigned(upTo: 21, "num_tile_rows_minus1")
      if try !reader.bit() {
        for _ in 0..<columns + rows { _ = try reader.unsigned() }
      }
      // loop_filter_across_tiles_enabled_flag.
      _ = try reader.bit()
    }
  }

  /// The two bytes before a NAL unit of the base layer.
  public static func header(of type: NALUnitType, temporalLevel: UInt8) -> [UInt8] {
    [type.rawValue << 1, temporalLevel + 1]
  }
}
