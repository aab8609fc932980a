public import Bitstream
public import NIOCore

/// How one codec is carried in RTP, and what its NAL units mean to code that does not know it.
///
/// A format only unpacks. Access unit boundaries, limits and loss are the same for all formats and
/// belong to ``VideoDefragmenter``. A ``FormatCatalogue`` lists the formats, which may come from
/// other packages.
public protocol PayloadFormat: Sendable {
  static var codec: VideoCodec { get }
  /// Bytes of the NAL unit header: 1 in H.264, 2 in H.265.
  static var headerLength: Int { get }

  /// Makes a format for a stream with these `a=fmtp` parameters; ignores values out of range.
  init(parameters: [String: String])

  /// How far NAL units may be sent out of decoding order; `nil` if they are not.
  var interleaving: InterleavingBounds? { get }

  /// Unpacks one payload, which is not empty.
  func unpack(_ payload: ByteBuffer, into units: inout NALUnitCollector)

  /// The role of the unit that begins with `head`.
  static func role(of head: NALUnitHead) -> NALUnitRole

  /// What precedes each unit in an access unit: a start code, or nothing.
  static var startCode: [UInt8] { get }

  /// Whether only the marker shows where a unit in several packets ends.
  static var endsUnitsAtMarker: Bool { get }

  /// The most slices that a picture of `format` may have.
  static func maximumSlices(of format: FormatDescription) -> Int

  /// What the picture of a slice that begins with `head` refers to.
  static func dependency(of head: NALUnitHead) -> PictureDependency

  /// The recovery point message in `unit`, a unit of supplemental information.
  static func recoveryPoint(in unit: ByteBuffer) -> RecoveryPoint?

  /// `nal_unit_type` of a unit that begins with `head`.
  static func type(of head: NALUnitHead) -> UInt8

  /// The parameter sets in the SDP parameters, as text.
  static func signalledParameterSets(in parameters: [String: String]) -> [String]

  /// The content of a parameter set of `type`; `nil` when it cannot be parsed.
  static func content(ofParameterSet unit: ByteBuffer, type: UInt8) -> ParameterSetContent?

  /// `nal_unit_type` of the sets that describe pictures.
  static var sequenceParameterSetType: UInt8? { get }

  /// The number of the sequence parameter set that `slice` refers to through `sets`.
  static func sequenceParameterSetIdentifier(
    for slice: ByteBuffer, with sets: ParameterSets
  ) -> Int?

  /// Whether `payload` is of this format.
  static func recognize(_ payload: ByteBuffer) -> Recognition

  /// Whether decoding can begin with `payload`.
  static func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool
}

/// Defaults for a codec without parameter sets and delimiters that is sent in decoding order.
extension PayloadFormat {
  public static var sequenceParameterSetType: UInt8? { nil }

  public var interleaving: InterleavingBounds? { nil }

  public static var startCode: [UInt8] { AnnexB.startCode }
  public static var endsUnitsAtMarker: Bool { false }

  public static func maximumSlices(of format: FormatDescription) -> Int { 0 }

  public static func recoveryPoint(in unit: ByteBuffer) -> RecoveryPoint? { nil }

  public static func signalledParameterSets(in parameters: [String: String]) -> [String] { [] }

  public static func content(ofParameterSet unit: ByteBuffer, type: UInt8) -> ParameterSetContent? {
    nil
  }

  public static func sequenceParameterSetIdentifier(
    for slice: ByteBuffer, with sets: ParameterSets
  ) -> Int? { nil }
}

extension PayloadFormat {
  /// The types of parameter sets that decoding needs, in their natural order.
  public static var parameterSetTypes: [UInt8] { codec.parameterSetTypes }
  public static var accessUnitDelimiterType: UInt8? { codec.accessUnitDelimiterType }

  /// The heads of the entries of an aggregation packet, each preceded by a 16-bit length, up to the
  /// first that does not fit; `nil` if there is none, or if anything but zeros follows them.
  ///
  /// A start code before an entry is not part of it.
  public static func heads(ofEntries entries: ByteBuffer) -> [NALUnitHead]? {
    var rest = entries
    var heads: [NALUnitHead] = []
    while let length = rest.readInteger(as: UInt16.self), length > 0 {
      guard let entry = rest.readSlice(length: Int(length)) else { return nil }
      heads.append(NALUnitHead(of: entry.behindStartCode))
    }
    return heads.isEmpty || rest.readableBytesView.contains { $0 != 0 } ? nil : heads
  }
}

/// The content of a parameter set that is kept beside its bytes.
public struct ParameterSetContent: Sendable {
  /// The identifier by which others refer to it.
  public var identifier: Int
  /// The format of the pictures, where the set describes it.
  public var format: FormatDescription?

  public init(identifier: Int, format: FormatDescription? = nil) {
    self.identifier = identifier
    self.format = format
  }
}

/// How sure a format is that a payload is its own.
public enum Recognition: Sendable, Hashable {
  case no
  case possible
  case certain
}
