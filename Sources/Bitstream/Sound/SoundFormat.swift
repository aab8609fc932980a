/// What a decoder of sound has to know before the first packet.
public struct SoundFormat: Sendable, Hashable {
  public let codec: SoundCodec
  /// Samples a second of each channel, as they come out of the decoder; never 0.
  ///
  /// It is not always the rate of the RTP clock: G.722 counts 8,000 ticks and has 16,000 samples
  /// (RFC 3551 §4.5.2).
  public let sampleRate: Int
  /// 1 … 8.
  public let channels: Int
  /// AudioSpecificConfig for AAC (ISO/IEC 14496-3 §1.6.2.1); empty where nothing has to be known.
  public let configuration: [UInt8]
  /// Bits of one code of one channel, where the codec has several sizes, as G.726 has; otherwise 0.
  public let codeBits: Int

  public init(
    codec: SoundCodec, sampleRate: Int, channels: Int, configuration: [UInt8] = [],
    codeBits: Int = 0
  ) {
    self.codec = codec
    self.sampleRate = max(sampleRate, 1)
    self.channels = min(max(channels, 1), 8)
    self.configuration = configuration
    self.codeBits = codeBits
  }
}
