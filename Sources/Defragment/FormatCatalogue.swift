public import Bitstream
public import NIOCore

/// The payload formats that a receiver knows.
///
/// A format is a folder in this module and an entry in ``standard``. A program adds its own with
/// ``init(_:)``: `FormatCatalogue(FormatCatalogue.standard.formats + [Mine.self])`.
public struct FormatCatalogue: Sendable {
  /// The formats in this package.
  public static let standard = FormatCatalogue([H264PayloadFormat.self, H265PayloadFormat.self])

  /// In the order in which they are asked to recognize a payload.
  public let formats: [any PayloadFormat.Type]

  /// Makes a catalogue of `formats`, whose encoding names must differ.
  public init(_ formats: [any PayloadFormat.Type]) { self.formats = formats }

  /// The codecs of all formats.
  public var codecs: [VideoCodec] { formats.map { $0.codec } }

  /// The names of all codecs, for messages.
  public var names: String { codecs.map(\.name).joined(separator: ", ") }

  /// The codec with the command-line `name`, ignoring case.
  public func codec(named name: String) -> VideoCodec? {
    codecs.first { $0.name == name.lowercased() }
  }

  /// The codec with this SDP encoding name, ignoring case (RFC 8866 §6.6).
  public func codec(encodingName: String) -> VideoCodec? {
    format(encodingName: encodingName)?.codec
  }

  /// How sure each format is that `payload` is its own, in the order of ``codecs``.
  public func recognize(_ payload: ByteBuffer) -> [(codec: VideoCodec, Recognition)] {
    let payload = payload.behindStartCode
    return formats.map { ($0.codec, $0.recognize(payload)) }
  }

  /// Whether a decoder can begin with `payload`, whatever its codec.
  ///
  /// It can if the payload contains parameter sets, or a key picture when the sets are already
  /// known.
  public func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    let payload = payload.behindStartCode
    return formats.contains { $0.isEntryPoint(payload, parameterSetsKnown: parameterSetsKnown) }
  }

  func format(encodingName: String) -> (any PayloadFormat.Type)? {
    formats.first { $0.codec.encodingName == encodingName.uppercased() }
  }
}
