/// MPEG-4 audio (ISO/IEC 14496-3): its codec, and what its syntaxes have in common.
public enum AAC {
  /// Its configuration is an ``AudioSpecificConfig``, its units are bare access units.
  public static let codec = SoundCodec(name: "aac", decoderName: "aac")

  /// The audio object types that change how a configuration is read (table 1.17).
  enum ObjectType {
    static let spectralBandReplication = 5
    static let scalable = 6
    static let errorResilientScalable = 20
    static let errorResilientBSAC = 22
    static let errorResilientLowDelay = 23
    static let parametricStereo = 29
    static let escape = 31
    static let enhancedLowDelay = 39

    /// Those with a general audio configuration (§4.4.1).
    static let generalAudio: Set<Int> = [1, 2, 3, 4, 6, 7, 17, 19, 20, 21, 22, 23]
    /// Those that say whether their errors are protected (table 1.15).
    static let errorResilient: Set<Int> = Set([17] + Array(19...27) + [39])
    /// Those of the general audio coder with resilience flags.
    static let withResilienceFlags: Set<Int> = [17, 19, 20, 23]
  }

  /// The sampling frequencies by index (table 1.18); index 15 means that the frequency follows.
  static let sampleRates = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
  ]

  /// The index of a frequency that is given in full.
  static let explicitRate: UInt32 = 15
  /// The lowest frequency that has an index.
  ///
  /// One given in full could be 1 Hz, of which a few bytes last for a quarter of an hour.
  static let leastSampleRate = 7_350
  /// What no encoder exceeds; a frequency in full has room for 16 MHz.
  static let greatestSampleRate = 192_000

  /// Channels by channel configuration (table 1.19); 0 for those that are reserved.
  static let channels = [0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 0, 8]

  /// The channel configuration of `channels`; `nil` where there is none.
  static func channelConfiguration(of channels: Int) -> Int? {
    channels > 0 ? self.channels.firstIndex(of: channels) : nil
  }
}
