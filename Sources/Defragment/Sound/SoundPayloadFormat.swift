public import Bitstream
public import NIOCore
public import RTPWire

/// How one coding of sound is carried in RTP.
///
/// A format only unpacks. Times, losses, limits and counters are the same for all formats and
/// belong to ``SoundDefragmenter``. A ``FormatCatalogue`` lists the formats, which may come from
/// other packages.
public protocol SoundPayloadFormat: Sendable {
  /// Its encoding names in SDP (`a=rtpmap`), in upper case.
  static var encodingNames: [String] { get }

  /// The name of the coding that `encodingName`, one of these, stands for, as ``SoundCodec/name``
  /// has it; by default `encodingName` in lower case.
  static func codecName(of encodingName: String) -> String

  /// Makes a format for the described stream; `nil` when its parameters rule out decoding.
  ///
  /// Values out of range are to be ignored, as far as that leaves something to decode.
  init?(media: MediaDescription)

  /// What decoders have to know, as far as it is known by now.
  var format: SoundFormat? { get }

  /// Unpacks one payload, which is not empty.
  mutating func unpack(
    _ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector)
}

extension SoundPayloadFormat {
  public static func codecName(of encodingName: String) -> String { encodingName.lowercased() }
}

extension MediaDescription {
  /// The channels of sound that it says, 1 … 8.
  var soundChannels: Int { min(max(channels ?? 1, 1), 8) }

  /// Samples a second, if the clock counts samples.
  var clockSampleRate: Int { Int(clamping: clockRate) }
}
