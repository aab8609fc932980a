/// H.265 / HEVC (ITU-T H.265, ISO 23008-2) and its NAL units.
public enum H265 {
  public static let codec = VideoCodec(
    name: "h265", encodingName: "H265", decoderName: "hevc", otherFileEndings: ["265", "hevc"],
    parameterSetTypes: [
      NALUnitType.videoParameterSet.rawValue, NALUnitType.sequenceParameterSet.rawValue,
      NALUnitType.pictureParameterSet.rawValue,
    ],
    accessUnitDelimiterType: NALUnitType.accessUnitDelimiter.rawValue,
    accessUnitDelimiter: [0x46, 0x01, 0x50],
    decoderTraits: [.allocatesMissingLater, .missesCutSlices, .misplacesMotion],
    makeReader: { PictureReader() }, makeRecord: { configurationRecord(of: $0) },
    codecsParameter: { codecsParameter(of: $0) },
    parameterSetNames: { parameterSetNames(of: $0) },
    withoutReordering: { withoutReordering($0) },
    unitType: { type(of: $0) }, unitName: { NALUnitType(rawValue: $0)?.name },
    // RFC 7798 §4.4.3, §7.1.
    packetization: VideoCodec.Packetization(
      headerLength: 2, setParameters: ["sprop-vps", "sprop-sps", "sprop-pps"],
      fragmentIndicator: { [$0[0] & 0x81 | (49 << 1), $0[1]] }))

  /// `nal_unit_type` (table 7-1).
  public enum NALUnitType: UInt8, Sendable, Hashable, CaseIterable {
    case trailN = 0
    case trailR = 1
    case tsaN = 2
    case tsaR = 3
    case stsaN = 4
    case stsaR = 5
    case radlN = 6
    case radlR = 7
    case raslN = 8
    case raslR = 9
    case blaWLP = 16
    case blaWRADL = 17
    case blaNLP = 18
    case idrWRADL = 19
    case idrNLP = 20
    case cra = 21
    case videoParameterSet = 32
    case sequenceParameterSet = 33
    case pictureParameterSet = 34
    case accessUnitDelimiter = 35
    case endOfSequence = 36
    case endOfBitstream = 37
    case fillerData = 38
    case prefixSupplementalEnhancementInformation = 39
    case suffixSupplementalEnhancementInformation = 40

    /// Its name for programs: that of table 7-1 in lower case, without `_nut`.
    public var name: String {
      switch self {
      case .trailN: "trail_n"
      case .trailR: "trail_r"
      case .tsaN: "tsa_n"
      case .tsaR: "tsa_r"
      case .stsaN: "stsa_n"
      case .stsaR: "stsa_r"
      case .radlN: "radl_n"
      case .radlR: "radl_r"
      case .raslN: "rasl_n"
      case .raslR: "rasl_r"
      case .blaWLP: "bla_w_lp"
      case .blaWRADL: "bla_w_radl"
      case .blaNLP: "bla_n_lp"
      case .idrWRADL: "idr_w_radl"
      case .idrNLP: "idr_n_lp"
      case .cra: "cra"
      case .videoParameterSet: "vps"
      case .sequenceParameterSet: "sps"
      case .pictureParameterSet: "pps"
      case .accessUnitDelimiter: "aud"
      case .endOfSequence: "eos"
      case .endOfBitstream: "eob"
      case .fillerData: "fd"
      case .prefixSupplementalEnhancementInformation: "prefix_sei"
      case .suffixSupplementalEnhancementInformation: "suffix_sei"
      }
    }
  }

  /// `nal_unit_type` of a unit that begins with `head`.
  public static func type(of head: NALUnitHead) -> UInt8 { head[0] >> 1 & 0x3F }

  /// `nuh_layer_id` of a unit that begins with `head`.
  public static func layer(of head: NALUnitHead) -> UInt8 { (head[0] & 1) << 5 | head[1] >> 3 }

  /// What a picture with slices of `type` may refer to (§7.4.2.2).
  public static func references(ofType type: UInt8) -> PictureDependency.References {
    switch NALUnitType(rawValue: type) {
    case .tsaN, .tsaR: .lowerLevels
    case .radlN, .radlR: .randomAccessPoint
    case .raslN, .raslR: .beforeRandomAccessPoint
    default: (16...21).contains(type) ? .none : .earlier
    }
  }

  /// The role of a NAL unit of `type` in layer `layer`; `firstByteOfSlice` follows the header.
  public static func role(ofType type: UInt8, layer: UInt8, firstByteOfSlice: UInt8) -> NALUnitRole
  {
    // Only the base layer is decoded; other layers extend its pictures (annexes F to I).
    guard layer == 0 else { return .other }
    let isFirstSlice = firstByteOfSlice & 0x80 != 0
    return switch type {
    // Decoders ignore those between and behind, which are reserved (§7.4.2.2).
    case 0...9: .picture(isFirstSlice: isFirstSlice, isRandomAccess: false)
    case 16...21: .picture(isFirstSlice: isFirstSlice, isRandomAccess: true)
    case 32...34: .parameterSet
    case 35, 41...44, 48...55: .start
    case 39: .supplementalInformation
    default: .other
    }
  }
}
