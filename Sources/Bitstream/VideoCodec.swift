/// A video coding standard: its names, and what its decoder needs.
///
/// Each codec's folder declares its own, so nothing else switches over codecs. Two codecs are equal
/// when they have the same name.
public struct VideoCodec: Sendable, Hashable {
  /// How libavcodec's decoder differs from its H.264 decoder.
  public struct DecoderTraits: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// It allocates missing pictures after the one that refers to them, not before it.
    public static let allocatesMissingLater = DecoderTraits(rawValue: 1)
    /// It does not notice that a slice ends early.
    public static let missesCutSlices = DecoderTraits(rawValue: 2)
    /// It replaces a missing H.265 picture by one with the motion of another, which spoils later
    /// pictures.
    public static let misplacesMotion = DecoderTraits(rawValue: 4)
  }

  /// The name on the command line and the ending of an elementary-stream file: `h264`, `h265`.
  public let name: String
  /// The encoding name in SDP (`a=rtpmap`): `H264`, `H265`.
  public let encodingName: String
  /// libavcodec's name of the decoder: `h264`, `hevc`.
  public let decoderName: String
  /// Other endings of an elementary-stream file, such as `264` and `hevc`.
  public let otherFileEndings: [String]
  /// The types of parameter sets (`nal_unit_type`) that decoding needs, in their natural order.
  public let parameterSetTypes: [UInt8]
  /// The type of access unit delimiters, if the codec has any.
  public let accessUnitDelimiterType: UInt8?
  public let decoderTraits: DecoderTraits
  /// Makes a reader of its slice headers; `nil` when pictures are output in decoding order.
  public let makeReader: (@Sendable () -> any PictureReading)?
  /// The name of a `nal_unit_type`; `nil` for a type without one.
  let unitName: (@Sendable (UInt8) -> String?)?

  public init(
    name: String, encodingName: String, decoderName: String, otherFileEndings: [String],
    parameterSetTypes: [UInt8] = [], accessUnitDelimiterType: UInt8? = nil,
    decoderTraits: DecoderTraits = [],
    makeReader: (@Sendable () -> any PictureReading)? = nil,
    unitName: (@Sendable (UInt8) -> String?)? = nil
  ) {
    self.name = name
    self.encodingName = encodingName
    self.decoderName = decoderName
    self.otherFileEndings = otherFileEndings
    self.parameterSetTypes = parameterSetTypes
    self.accessUnitDelimiterType = accessUnitDelimiterType
    self.decoderTraits = decoderTraits
    self.makeReader = makeReader
    self.unitName = unitName
  }

  /// The name of NAL units of `type`, for programs: `sps`, `slice_idr`; `type_N` for one without a
  /// name.
  public func name(ofUnitType type: UInt8) -> String { unitName?(type) ?? "type_\(type)" }

  public static func == (one: VideoCodec, other: VideoCodec) -> Bool { one.name == other.name }

  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
