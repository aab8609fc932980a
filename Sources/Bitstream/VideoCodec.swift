public import NIOCore

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

  /// What is said of a codec.
  ///
  /// Access units carry their codec along, so a copy of it has to be cheap: one reference.
  private final class Declaration: Sendable {
    let name: String
    let encodingName: String
    let decoderName: String
    let otherFileEndings: [String]
    let parameterSetTypes: [UInt8]
    let accessUnitDelimiterType: UInt8?
    let accessUnitDelimiter: [UInt8]
    let decoderTraits: DecoderTraits
    let makeReader: (@Sendable () -> any PictureReading)?
    let makeRecord: (@Sendable ([ByteBuffer]) -> ByteBuffer?)?
    let codecsParameter: (@Sendable ([ByteBuffer]) -> String?)?
    let parameterSetNames: (@Sendable (ByteBuffer) -> ParameterSetNames?)?
    let withoutReordering: (@Sendable (ByteBuffer) -> ByteBuffer?)?
    let unitType: (@Sendable (NALUnitHead) -> UInt8)?
    let unitName: (@Sendable (UInt8) -> String?)?
    let packetization: Packetization?

    init(
      name: String, encodingName: String, decoderName: String, otherFileEndings: [String],
      parameterSetTypes: [UInt8], accessUnitDelimiterType: UInt8?, accessUnitDelimiter: [UInt8],
      decoderTraits: DecoderTraits,
      makeReader: (@Sendable () -> any PictureReading)?,
      makeRecord: (@Sendable ([ByteBuffer]) -> ByteBuffer?)?,
      codecsParameter: (@Sendable ([ByteBuffer]) -> String?)?,
      parameterSetNames: (@Sendable (ByteBuffer) -> ParameterSetNames?)?,
      withoutReordering: (@Sendable (ByteBuffer) -> ByteBuffer?)?,
      unitType: (@Sendable (NALUnitHead) -> UInt8)?,
      unitName: (@Sendable (UInt8) -> String?)?,
      packetization: Packetization?
    ) {
      self.name = name
      self.encodingName = encodingName
      self.decoderName = decoderName
      self.otherFileEndings = otherFileEndings
      self.parameterSetTypes = parameterSetTypes
      self.accessUnitDelimiterType = accessUnitDelimiterType
      self.accessUnitDelimiter = accessUnitDelimiter
      self.decoderTraits = decoderTraits
      self.makeReader = makeReader
      self.makeRecord = makeRecord
      self.codecsParameter = codecsParameter
      self.parameterSetNames = parameterSetNames
      self.withoutReordering = withoutReordering
      self.unitType = unitType
      self.unitName = unitName
      self.packetization = packetization
    }
  }

  private let declaration: Declaration

  public init(
    name: String, encodingName: String, decoderName: String, otherFileEndings: [String],
    parameterSetTypes: [UInt8] = [], accessUnitDelimiterType: UInt8? = nil,
    accessUnitDelimiter: [UInt8] = [],
    decoderTraits: DecoderTraits = [],
    makeReader: (@Sendable () -> any PictureReading)? = nil,
    makeRecord: (@Sendable ([ByteBuffer]) -> ByteBuffer?)? = nil,
    codecsParameter: (@Sendable ([ByteBuffer]) -> String?)? = nil,
    parameterSetNames: (@Sendable (ByteBuffer) -> ParameterSetNames?)? = nil,
    withoutReordering: (@Sendable (ByteBuffer) -> ByteBuffer?)? = nil,
    unitType: (@Sendable (NALUnitHead) -> UInt8)? = nil,
    unitName: (@Sendable (UInt8) -> String?)? = nil,
    packetization: Packetization? = nil
  ) {
    declaration = Declaration(
      name: name, encodingName: encodingName, decoderName: decoderName,
      otherFileEndings: otherFileEndings, parameterSetTypes: parameterSetTypes,
      accessUnitDelimiterType: accessUnitDelimiterType, accessUnitDelimiter: accessUnitDelimiter,
      decoderTraits: decoderTraits, makeReader: makeReader, makeRecord: makeRecord,
      codecsParameter: codecsParameter, parameterSetNames: parameterSetNames,
      withoutReordering: withoutReordering, unitType: unitType, unitName: unitName,
      packetization: packetization)
  }

  /// The name on the command line and the ending of an elementary-stream file: `h264`, `h265`.
  public var name: String { declaration.name }
  /// The encoding name in SDP (`a=rtpmap`): `H264`, `H265`.
  public var encodingName: String { declaration.encodingName }
  /// libavcodec's name of the decoder: `h264`, `hevc`.
  public var decoderName: String { declaration.decoderName }
  /// Other endings of an elementary-stream file, such as `264` and `hevc`.
  public var otherFileEndings: [String] { declaration.otherFileEndings }
  /// The types of parameter sets (`nal_unit_type`) that decoding needs, in their natural order.
  public var parameterSetTypes: [UInt8] { declaration.parameterSetTypes }
  /// The type of access unit delimiters, if the codec has any.
  public var accessUnitDelimiterType: UInt8? { declaration.accessUnitDelimiterType }
  /// One that allows pictures of every kind behind it; empty if the codec has none.
  public var accessUnitDelimiter: [UInt8] { declaration.accessUnitDelimiter }
  public var decoderTraits: DecoderTraits { declaration.decoderTraits }
  /// How its NAL units go in RTP; `nil` where they cannot be sent on.
  public var packetization: Packetization? { declaration.packetization }
  /// Makes a reader of its slice headers; `nil` when pictures are output in decoding order.
  public var makeReader: (@Sendable () -> any PictureReading)? { declaration.makeReader }

  /// The record of `sets`, without start codes, that the headers of MP4 and Matroska have (`avcC`,
  /// `hvcC`); `nil` where the codec has none, or the sets do not fit in.
  public func configurationRecord(of sets: [ByteBuffer]) -> ByteBuffer? {
    declaration.makeRecord?(sets)
  }

  /// What names the coding of a stream with `sets`, without start codes, for browsers (RFC 6381
  /// §3.3): `avc1.640028`; `nil` where the codec has no such name.
  public func codecsParameter(of sets: [ByteBuffer]) -> String? {
    declaration.codecsParameter?(sets)
  }

  /// The names in `unit`, a parameter set or a slice without a start code; `nil` for other units,
  /// and for what is malformed.
  public func parameterSetNames(of unit: ByteBuffer) -> ParameterSetNames? {
    declaration.parameterSetNames?(unit)
  }

  /// `set`, a sequence parameter set without a start code, saying that no picture is reordered;
  /// `nil` if it says so already, is another set, or cannot be read.
  ///
  /// Decoders wait for as many pictures as a stream may reorder, and for many where it does not
  /// say.
  public func withoutReordering(_ set: ByteBuffer) -> ByteBuffer? {
    declaration.withoutReordering?(set)
  }

  /// `nal_unit_type` of a unit that begins with `head`; 0 for codecs without NAL units.
  public func type(of head: NALUnitHead) -> UInt8 { declaration.unitType?(head) ?? 0 }

  /// The name of NAL units of `type`, for programs: `sps`, `slice_idr`; `type_N` for one without a
  /// name.
  public func name(ofUnitType type: UInt8) -> String {
    declaration.unitName?(type) ?? "type_\(type)"
  }

  public static func == (one: VideoCodec, other: VideoCodec) -> Bool {
    one.declaration === other.declaration || one.name == other.name
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
