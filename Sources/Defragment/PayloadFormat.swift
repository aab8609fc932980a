public import Bitstream
public import NIOCore

/// How one codec travels in RTP, and what its NAL units mean to those who do not know the codec.
///
/// A format only unpacks. Where access units begin and end, limits and loss are the same for all
/// formats and belong to ``VideoDefragmenter``. A format is entered in a ``FormatCatalogue``; it
/// can as well come from another package.
public protocol PayloadFormat: Sendable {
  static var codec: VideoCodec { get }
  /// Bytes of the NAL unit header: 1 in H.264, 2 in H.265.
  static var headerLength: Int { get }
  /// The types of the parameter sets without which nothing can be decoded, in their natural order.
  static var parameterSetTypes: [UInt8] { get }
  static var accessUnitDelimiterType: UInt8? { get }

  /// Makes a format for a stream with these `a=fmtp` parameters; values out of range are ignored.
  init(parameters: [String: String])

  /// Where NAL units are sent out of decoding order, and how far: `nil` where they are not.
  var interleaving: InterleavingBounds? { get }

  /// Unpacks one payload, which is not empty.
  func unpack(_ payload: ByteBuffer, into units: inout NALUnitCollector)

  /// What the unit that begins with `head` is, whatever the codec calls it.
  static func role(of head: NALUnitHead) -> NALUnitRole

  /// What stands before each unit in an access unit: a start code, or nothing.
  static var startCode: [UInt8] { get }

  /// Whether the marker alone says where a unit ends that comes in several packets.
  static var endsUnitsAtMarker: Bool { get }

  /// Slices that a picture of `format` may consist of, beyond the usual.
  static func maximumSlices(of format: FormatDescription) -> Int

  /// What the picture refers to whose slice begins with `head`.
  static func dependency(of head: NALUnitHead) -> PictureDependency

  /// The recovery point message in `unit`, which holds supplemental information.
  static func recoveryPoint(in unit: ByteBuffer) -> RecoveryPoint?

  /// `nal_unit_type` of a unit that begins with `head`.
  static func type(of head: NALUnitHead) -> UInt8

  /// The parameter sets that the SDP parameters hold, as they are written there.
  static func signalledParameterSets(in parameters: [String: String]) -> [String]

  /// What a parameter set of `type` says; `nil` when it does not parse.
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

/// What holds of a codec that has neither parameter sets nor delimiters, and is sent in order.
extension PayloadFormat {
  public static var parameterSetTypes: [UInt8] { [] }
  public static var accessUnitDelimiterType: UInt8? { nil }
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
  /// The heads of the entries of an aggregation packet, each with a 16-bit length before it, up to
  /// the first that does not fit; `nil` when there is none, or anything but zeros behind them.
  public static func heads(ofEntries entries: ByteBuffer) -> [NALUnitHead]? {
    var rest = entries
    var heads: [NALUnitHead] = []
    while let length = rest.readInteger(as: UInt16.self), length > 0 {
      guard let entry = rest.readSlice(length: Int(length)) else { return nil }
      heads.append(NALUnitHead(of: entry))
    }
    return heads.isEmpty || rest.readableBytesView.contains { $0 != 0 } ? nil : heads
  }
}

/// What is kept of a parameter set besides its bytes.
public struct ParameterSetContent: Sendable {
  /// The number by which it is referred to.
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
