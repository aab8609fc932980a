public import Bitstream
public import NIOCore

/// The payload formats that a receiver knows.
///
/// A format is a folder in this room and an entry in ``standard``. A program adds formats of its
/// own with ``init(_:)``: `FormatCatalogue(FormatCatalogue.standard.formats + [Mine.self])`.
public struct FormatCatalogue: Sendable {
  /// The formats that this package brings.
  public static let standard = FormatCatalogue([H264PayloadFormat.self, H265PayloadFormat.self])

  /// In the order in which they are asked whether a payload is theirs.
  public let formats: [any PayloadFormat.Type]

  /// Makes a catalogue of `formats`, each with an encoding name of its own.
  public init(_ formats: [any PayloadFormat.Type]) { self.formats = formats }

  /// The codecs of all formats.
  public var codecs: [VideoCodec] { formats.map { $0.codec } }

  /// The names of all codecs, for a person.
  public var names: String { codecs.map(\.name).joined(separator: ", ") }

  /// The codec called `name` on the command line, whatever the case.
  public func codec(named name: String) -> VideoCodec? {
    codecs.first { $0.name == name.lowercased() }
  }

  /// The codec whose encoding name in SDP is `encodingName`, whatever the case (RFC 8866 §6.6).
  public func codec(encodingName: String) -> VideoCodec? {
    format(encodingName: encodingName)?.codec
  }

  /// How sure each format is that `payload` is its own, in the order of ``codecs``.
  public func recognize(_ payload: ByteBuffer) -> [(codec: VideoCodec, Recognition)] {
    let payload = payload.behindStartCode
    return formats.map { ($0.codec, $0.recognize(payload)) }
  }

  /// Whether a decoder can begin with `payload`, whichever codec it is of.
  ///
  /// With its parameter sets in it, or with a key picture when those are known already.
  public func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    let payload = payload.behindStartCode
    return formats.contains { $0.isEntryPoint(payload, parameterSetsKnown: parameterSetsKnown) }
  }

  func format(encodingName: String) -> (any PayloadFormat.Type)? {
    formats.first { $0.codec.encodingName == encodingName.uppercased() }
  }
}
