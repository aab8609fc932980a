public import Bitstream
public import NIOCore
public import RTPWire

/// The payload formats that a receiver knows.
///
/// A format is a folder in this module and an entry in ``standard``. A program adds its own with
/// ``init(_:sound:)``: `FormatCatalogue(FormatCatalogue.standard.formats + [Mine.self])`.
public struct FormatCatalogue: Sendable {
  /// The formats in this package.
  public static let standard = FormatCatalogue([H264PayloadFormat.self, H265PayloadFormat.self])

  /// The formats of sound in this package.
  public static let standardSound: [any SoundPayloadFormat.Type] = [
    GenericAACPayloadFormat.self, LATMPayloadFormat.self, OpusPayloadFormat.self,
    MuLawPayloadFormat.self, ALawPayloadFormat.self,
    G722PayloadFormat.self, G726PayloadFormat.self, L8PayloadFormat.self, L16PayloadFormat.self,
    L24PayloadFormat.self,
  ]

  /// Those of video, in the order in which they are asked to recognize a payload.
  public let formats: [any PayloadFormat.Type]
  /// Those of sound.
  public let soundFormats: [any SoundPayloadFormat.Type]

  /// Makes a catalogue of `formats` of video and `sound`, whose encoding names must differ.
  public init(
    _ formats: [any PayloadFormat.Type],
    sound: [any SoundPayloadFormat.Type] = FormatCatalogue.standardSound
  ) {
    self.formats = formats
    soundFormats = sound
  }

  /// The codecs of all formats.
  public var codecs: [VideoCodec] { formats.map { $0.codec } }

  /// The SDP encoding names of all formats, those of sound included, in upper case.
  public var encodingNames: Set<String> {
    Set(codecs.map { $0.encodingName.uppercased() } + soundFormats.flatMap { $0.encodingNames })
  }

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

  /// What `payload` shows about a stream of `codec`.
  public func fit(of payload: ByteBuffer, to codec: VideoCodec) -> CodecFit {
    let payload = payload.behindStartCode
    let own = formats.first { $0.codec == codec }?.recognize(payload) ?? .no
    // This is asked of each access unit, and the others only where it matters.
    var isOthers: Bool { formats.contains { $0.codec != codec && $0.recognize(payload) != .no } }
    switch own {
    case .certain: return .own
    case .possible: return isOthers ? .undecided : .own
    case .no: return isOthers ? .foreign : .undecided
    }
  }

  /// Whether a decoder can begin with `payload`, whatever its codec.
  ///
  /// It can if the payload contains parameter sets, or a key picture when the sets are already
  /// known.
  public func isEntryPoint(_ payload: ByteBuffer, parameterSetsKnown: Bool) -> Bool {
    let payload = payload.behindStartCode
    return formats.contains { $0.isEntryPoint(payload, parameterSetsKnown: parameterSetsKnown) }
  }

  /// Whether sound that is described like this can be taken out of its packets.
  public func knowsSound(_ media: MediaDescription) -> Bool { soundFormat(of: media) != nil }

  /// The name of the coding of sound with this SDP encoding name, as ``SoundCodec/name`` has it;
  /// what nobody knows keeps the name that it came with, in lower case.
  public func soundName(encodingName: String) -> String {
    soundFormat(encodingName: encodingName)?.codecName(of: encodingName)
      ?? encodingName.lowercased()
  }

  /// The samples a second of described sound, where its coding or its parameters say that.
  public func sampleRate(of media: MediaDescription) -> UInt32? {
    soundFormat(of: media)?.format.flatMap { UInt32(exactly: $0.sampleRate) }
  }

  /// The format of the sound that `media` describes; `nil` where it is not known.
  func soundFormat(of media: MediaDescription) -> (any SoundPayloadFormat)? {
    // A static type means the same everywhere; some cameras write another name beside it.
    let assigned = media.payloadType.flatMap { StaticPayloadType($0) }
      .flatMap { $0.kind == .audio ? soundFormat(encodingName: $0.encodingName) : nil }
    guard let type = assigned ?? media.encodingName.flatMap(soundFormat(encodingName:)) else {
      return nil
    }
    return type.init(media: media)
  }

  private func soundFormat(encodingName: String) -> (any SoundPayloadFormat.Type)? {
    let name = encodingName.uppercased()
    return soundFormats.first { $0.encodingNames.contains(name) }
  }

  func format(encodingName: String) -> (any PayloadFormat.Type)? {
    formats.first { $0.codec.encodingName == encodingName.uppercased() }
  }
}
