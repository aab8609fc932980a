import NIOCore

extension H265 {
  /// The names in a parameter set or a slice of the base layer, NAL unit header first; `nil` for
  /// other units, and for what is malformed.
  static func parameterSetNames(of unit: ByteBuffer) -> ParameterSetNames? {
    func name(_ type: NALUnitType, _ identifier: Int) -> ParameterSetNames.Name {
      ParameterSetNames.Name(type: type.rawValue, identifier: identifier)
    }
    let head = NALUnitHead(of: unit)
    guard layer(of: head) == 0 else { return nil }
    switch NALUnitType(rawValue: type(of: head)) {
    case .videoParameterSet:
      return videoIdentifier(of: unit).map { ParameterSetNames(own: name(.videoParameterSet, $0)) }
    case .sequenceParameterSet:
      return (try? SequenceParameterSet(parsing: unit)).map {
        // sps_video_parameter_set_id comes first (§7.3.2.2.1).
        ParameterSetNames(
          own: name(.sequenceParameterSet, $0.identifier),
          referred: name(.videoParameterSet, Int(head[2] >> 4)))
      }
    case .pictureParameterSet:
      return (try? PictureParameterSet(parsing: unit)).map {
        ParameterSetNames(
          own: name(.pictureParameterSet, $0.identifier),
          referred: name(.sequenceParameterSet, $0.sequenceIdentifier))
      }
    case let type? where type.rawValue < NALUnitType.videoParameterSet.rawValue:
      return SliceHeader.pictureSet(of: unit).map {
        ParameterSetNames(referred: name(.pictureParameterSet, $0))
      }
    default: return nil
    }
  }

  /// `vps_video_parameter_set_id`; `nil` if the set ends before its profile does, or has another
  /// value where there is but one (§7.3.2.1).
  private static func videoIdentifier(of unit: ByteBuffer) -> Int? {
    var reader = BitReader(unit.dropping(bytes: 2))
    do {
      let identifier = Int(try reader.bits(4))
      // vps_base_layer_internal_flag, vps_base_layer_available_flag and vps_max_layers_minus1.
      try reader.skip(8)
      guard try reader.bits(3) < 7 else { return nil }
      // vps_temporal_id_nesting_flag.
      try reader.skip(1)
      guard try reader.bits(16) == 0xFFFF else { return nil }
      // The general part of profile_tier_level (§7.3.3).
      try reader.skip(96)
      return identifier
    } catch { return nil }
  }
}
