/// H.264 / AVC (ITU-T H.264, ISO 14496-10) and its NAL units.
public enum H264 {
  public static let codec = VideoCodec(
    name: "h264", encodingName: "H264", decoderName: "h264",
    otherFileEndings: ["264", "avc", "jsv"],
    parameterSetTypes: [
      NALUnitType.sequenceParameterSet.rawValue, NALUnitType.pictureParameterSet.rawValue,
    ],
    accessUnitDelimiterType: NALUnitType.accessUnitDelimiter.rawValue,
    accessUnitDelimiter: [0x09, 0xF0],
    makeReader: { PictureReader() }, makeRecord: { configurationRecord(of: $0) },
    codecsParameter: { codecsParameter(of: $0) },
    parameterSetNames: { parameterSetNames(of: $0) },
    withoutReordering: { withoutReordering($0) },
    unitType: { type(of: $0) }, unitName: { NALUnitType(rawValue: $0)?.name },
    // RFC 6184 §5.8, §8.1.
    packetization: VideoCodec.Packetization(
      headerLength: 1, setParameters: ["sprop-parameter-sets"],
      otherParameters: ["packetization-mode=1"],
      fragmentIndicator: { [$0[0] & 0xE0 | 28] }))

  /// `nal_unit_type` (table 7-1).
  public enum NALUnitType: UInt8, Sendable, Hashable, CaseIterable {
    case codedSliceOfNonIDRPicture = 1
    case codedSliceDataPartitionA = 2
    case codedSliceDataPartitionB = 3
    case codedSliceDataPartitionC = 4
    case codedSliceOfIDRPicture = 5
    case supplementalEnhancementInformation = 6
    case sequenceParameterSet = 7
    case pictureParameterSet = 8
    case accessUnitDelimiter = 9
    case endOfSequence = 10
    case endOfStream = 11
    case fillerData = 12
    case sequenceParameterSetExtension = 13
    case prefixNALUnit = 14
    case subsetSequenceParameterSet = 15
    case depthParameterSet = 16
    case codedSliceOfAuxiliaryPicture = 19
    case codedSliceExtension = 20
    case codedSliceExtensionForDepthView = 21

    /// Its name for programs.
    public var name: String {
      switch self {
      case .codedSliceOfNonIDRPicture: "slice"
      case .codedSliceDataPartitionA: "slice_a"
      case .codedSliceDataPartitionB: "slice_b"
      case .codedSliceDataPartitionC: "slice_c"
      case .codedSliceOfIDRPicture: "slice_idr"
      case .supplementalEnhancementInformation: "sei"
      case .sequenceParameterSet: "sps"
      case .pictureParameterSet: "pps"
      case .accessUnitDelimiter: "aud"
      case .endOfSequence: "end_of_sequence"
      case .endOfStream: "end_of_stream"
      case .fillerData: "filler"
      case .sequenceParameterSetExtension: "sps_extension"
      case .prefixNALUnit: "prefix"
      case .subsetSequenceParameterSet: "subset_sps"
      case .depthParameterSet: "dps"
      case .codedSliceOfAuxiliaryPicture: "slice_auxiliary"
      case .codedSliceExtension: "slice_extension"
      case .codedSliceExtensionForDepthView: "slice_extension_depth"
      }
    }
  }

  /// `nal_unit_type` of a unit that begins with `head`.
  public static func type(of head: NALUnitHead) -> UInt8 { head[0] & 0x1F }

  /// The role of a NAL unit of `type`; `firstByteOfSlice` follows the header.
  public static func role(ofType type: UInt8, firstByteOfSlice: UInt8) -> NALUnitRole {
    // first_mb_in_slice is an Exp-Golomb code: 0 is a single 1 bit.
    let isFirstSlice = firstByteOfSlice & 0x80 != 0
    return switch NALUnitType(rawValue: type) {
    case .codedSliceOfNonIDRPicture, .codedSliceDataPartitionA:
      .picture(isFirstSlice: isFirstSlice, isRandomAccess: false)
    case .codedSliceOfIDRPicture: .picture(isFirstSlice: isFirstSlice, isRandomAccess: true)
    case .codedSliceDataPartitionB, .codedSliceDataPartitionC:
      .picture(isFirstSlice: false, isRandomAccess: false)
    case .sequenceParameterSet, .pictureParameterSet: .parameterSet
    case .supplementalEnhancementInformation: .supplementalInformation
    case .accessUnitDelimiter, .sequenceParameterSetExtension, .subsetSequenceParameterSet,
      .depthParameterSet:
      .start
    case .prefixNALUnit: .prefix
    default: .other
    }
  }
}
