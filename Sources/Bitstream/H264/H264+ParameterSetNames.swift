import NIOCore

extension H264 {
  /// The names in a parameter set or a slice, NAL unit header first; `nil` for other units, and for
  /// what is malformed.
  static func parameterSetNames(of unit: ByteBuffer) -> ParameterSetNames? {
    func name(_ type: NALUnitType, _ identifier: Int) -> ParameterSetNames.Name {
      ParameterSetNames.Name(type: type.rawValue, identifier: identifier)
    }
    switch NALUnitType(rawValue: type(of: NALUnitHead(of: unit))) {
    case .sequenceParameterSet:
      return (try? SequenceParameterSet(parsing: unit)).map {
        ParameterSetNames(own: name(.sequenceParameterSet, $0.identifier))
      }
    case .pictureParameterSet:
      return (try? PictureParameterSet(parsing: unit)).map {
        ParameterSetNames(
          own: name(.pictureParameterSet, $0.identifier),
          referred: name(.sequenceParameterSet, $0.sequenceIdentifier))
      }
    case .codedSliceOfNonIDRPicture, .codedSliceDataPartitionA, .codedSliceOfIDRPicture:
      return SliceHeader.pictureSet(of: unit).map {
        ParameterSetNames(referred: name(.pictureParameterSet, $0))
      }
    default: return nil
    }
  }
}
