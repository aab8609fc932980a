/// A sound coding: its names, and what its decoder needs.
///
/// Two codecs are equal when they have the same name: what is called `aac` is recorded as AAC,
/// whatever decoder it names.
public struct SoundCodec: Sendable, Hashable {
  /// The name for people and in the statistics, in lower case: `aac`, `pcmu`, `opus`.
  public let name: String
  /// libavcodec's name of the decoder: `aac`, `pcm_mulaw`, `opus`.
  public let decoderName: String
  /// How lost sound is made up, where a decoder does that.
  public let concealment: SoundConcealment?

  public init(name: String, decoderName: String, concealment: SoundConcealment? = nil) {
    self.name = name
    self.decoderName = decoderName
    self.concealment = concealment
  }

  public static func == (one: SoundCodec, other: SoundCodec) -> Bool { one.name == other.name }

  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
