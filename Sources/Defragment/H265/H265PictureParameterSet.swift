import NIOCore

extension H265 {
  /// A picture parameter set as far as the beginning of slice headers depends on it (§7.3.2.3).
  package struct PictureParameterSet: Sendable {
    package let identifier: Int
    package let sequenceIdentifier: Int
    package let hasDependentSlices: Bool
    package let hasOutputFlag: Bool
    package let extraHeaderBits: Int

    /// Reads `unit`, header included.
    ///
    /// - Throws: when it ends early or a value is out of the standard's range.
    init(parsing unit: ByteBuffer) throws {
      var reader = BitReader(unit.dropping(bytes: 2))
      identifier = try reader.unsigned(upTo: 63, "pps_pic_parameter_set_id")
      sequenceIdentifier = try reader.unsigned(upTo: 15, "pps_seq_parameter_set_id")
      hasDependentSlices = try reader.bit()
      hasOutputFlag = try reader.bit()
      extraHeaderBits = Int(try reader.bits(3))
    }
  }

  /// The two bytes before a NAL unit of the base layer.
  package static func header(of type: NALUnitType, temporalLevel: UInt8) -> [UInt8] {
    [type.rawValue << 1, temporalLevel + 1]
  }
}
