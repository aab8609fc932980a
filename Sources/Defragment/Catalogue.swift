public import Bitstream
public import NIOCore

/// The payload formats that there are: a new one is a folder here and a line in this list.
public enum FormatCatalogue {
  static let formats: [any PayloadFormat.Type] = [H264PayloadFormat.self, H265PayloadFormat.self]

  /// The codecs of all formats.
  public static var codecs: [VideoCodec] { formats.map { $0.codec } }

  /// The names of all codecs, for a person.
  public static var names: String { codecs.map(\.name).joined(separator: ", ") }

  /// The codec called `name` on the command line, whatever the case.
  public static func codec(named name: String) -> VideoCodec? {
    codecs.first { $0.name == name.lowercased() }
  }

  /// The codec whose encoding name in SDP is `encodingName`, whatever the case (RFC 8866 §6.6).
  public static func codec(encodingName: String) -> VideoCodec? {
    format(encodingName: encodingName)?.codec
  }

  /// How sure each format is that `payload` is its own, in the order of ``codecs``.
  public static func recognize(_ payload: ByteBuffer) -> [(codec: VideoCodec, Recognition)] {
    let payload = payload.behindStartCode
    return formats.map { ($0.codec, $0.recognize(payload)) }
  }

  /// Whether a decoder can begin with `payload`, whichever codec it is of.
  ///
  /// With its parameter sets in it, or with a key picture when those are known already.
  public static func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    let payload = payload.behindStartCode
    return formats.contains { $0.isEntryPoint(payload, parameterSetsKnown: parameterSetsKnown) }
  }

  static func format(encodingName: String) -> (any PayloadFormat.Type)? {
    formats.first { $0.codec.encodingName == encodingName.uppercased() }
  }
}
