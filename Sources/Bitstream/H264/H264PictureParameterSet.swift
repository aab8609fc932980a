public import NIOCore

extension H264 {
  /// The part of a picture parameter set that slice headers need (§7.3.2.2).
  public struct PictureParameterSet: Sendable, Hashable {
    public let identifier: Int
    public let sequenceIdentifier: Int
    /// `bottom_field_pic_order_in_frame_present_flag`.
    public let tellsFieldOrder: Bool
    /// The length of each reference list, for slices that do not give one.
    public let defaultReferences: [Int]
    /// `weighted_pred_flag`.
    public let weighsPredictions: Bool
    /// `weighted_bipred_idc` is 1.
    public let weighsBipredictions: Bool
    public let hasRedundantPictures: Bool

    /// Reads `unit`, header included.
    ///
    /// - Throws: when it ends early or a value is outside the standard's range.
    public init(parsing unit: ByteBuffer) throws {
      var reader = BitReader(unit.dropping(bytes: 1))
      identifier = try Self.readIdentifier(&reader)
      sequenceIdentifier = try Self.readSequenceIdentifier(&reader)
      // entropy_coding_mode_flag.
      _ = try reader.bit()
      tellsFieldOrder = try reader.bit()
      try Self.skipSliceGroups(&reader)
      defaultReferences = [
        1 + (try reader.unsigned(upTo: 31, "num_ref_idx_l0_default_active_minus1")),
        1 + (try reader.unsigned(upTo: 31, "num_ref_idx_l1_default_active_minus1")),
      ]
      weighsPredictions = try reader.bit()
      weighsBipredictions = try reader.bits(2) == 1
      for _ in 0..<3 { _ = try reader.signed() }
      // deblocking_filter_control_present_flag and constrained_intra_pred_flag.
      try reader.skip(2)
      hasRedundantPictures = try reader.bit()
    }

    /// The identifier of `unit`, of which nothing else need be readable.
    public static func identifier(of unit: ByteBuffer) -> Int? {
      var reader = BitReader(unit.dropping(bytes: 1))
      return try? readIdentifier(&reader)
    }

    /// The identifier of the sequence parameter set that `unit` names.
    public static func sequenceIdentifier(of unit: ByteBuffer) -> Int? {
      var reader = BitReader(unit.dropping(bytes: 1))
      guard (try? readIdentifier(&reader)) != nil else { return nil }
      return try? readSequenceIdentifier(&reader)
    }

    private static func readIdentifier(_ reader: inout BitReader) throws -> Int {
      try reader.unsigned(upTo: 255, "pic_parameter_set_id")
    }

    private static func readSequenceIdentifier(_ reader: inout BitReader) throws -> Int {
      try reader.unsigned(upTo: 31, "seq_parameter_set_id")
    }

    private static func skipSliceGroups(_ reader: inout BitReader) throws {
      let last = try reader.unsigned(upTo: 7, "num_slice_groups_minus1")
      guard last > 0 else { return }
      switch try reader.unsigned(upTo: 6, "slice_group_map_type") {
      case 0: for _ in 0...last { _ = try reader.unsigned() }
      case 2: for _ in 0..<2 * last { _ = try reader.unsigned() }
      case 3, 4, 5:
        _ = try reader.bit()
        _ = try reader.unsigned()
      case 6:
        let units = 1 + (try reader.unsigned(upTo: 1 << 18, "pic_size_in_map_units_minus1"))
        try reader.skip(units * bitsToTell(last + 1))
      default: break
      }
    }
  }
}
