public import NIOCore

/// What a decoder of MPEG-4 audio has to know (ISO/IEC 14496-3 §1.6.2.1).
public struct AudioSpecificConfig: Sendable, Hashable {
  public enum Invalid: Error, Sendable, Hashable {
    /// It ends inside a field.
    case cut
    /// A sampling frequency that is reserved, below 7,350 Hz, or beyond 192 kHz.
    case sampleRate
    /// A channel configuration that is reserved, or more than 8 channels.
    case channels
    /// A coding other than AAC.
    case objectType(Int)
  }

  /// The audio object type of the core: 2 is AAC LC, 23 AAC LD, 39 AAC ELD.
  public internal(set) var objectType: Int
  /// The sampling frequency of the core.
  public internal(set) var coreSampleRate: Int
  /// The sampling frequency of the output, twice that of the core where bands are replicated (SBR)
  /// and the configuration says so.
  public internal(set) var sampleRate: Int
  /// As coded (table 1.19); 0 where a program config element says more.
  public internal(set) var channelConfiguration: Int
  /// Channels of the output, 1 … 8.
  public internal(set) var channels: Int
  /// Samples that one access unit of the core decodes to: 1024, 960, 512 or 480.
  public internal(set) var coreSamples: Int
  /// Whether the configuration says that bands are replicated; a decoder may find that they are.
  public internal(set) var hasBandReplication: Bool
  /// Whether it says that stereo is made of one channel.
  public internal(set) var hasParametricStereo: Bool
  /// As coded, padded to whole bytes.
  public internal(set) var bytes: [UInt8]

  /// The one for a plain stream of `objectType`; `nil` where that cannot be written.
  ///
  /// - Parameters:
  ///   - objectType: 1 … 4, those that an ADTS header can name.
  ///   - sampleRate: samples a second, 7,350 … 192,000.
  ///   - channels: 1 … 8.
  public init?(objectType: Int = 2, sampleRate: Int, channels: Int) {
    guard (1...4).contains(objectType),
      (AAC.leastSampleRate...AAC.greatestSampleRate).contains(sampleRate),
      let configuration = AAC.channelConfiguration(of: channels)
    else { return nil }
    self.objectType = objectType
    coreSampleRate = sampleRate
    self.sampleRate = sampleRate
    channelConfiguration = configuration
    self.channels = channels
    coreSamples = 1024
    (hasBandReplication, hasParametricStereo) = (false, false)
    var writer = BitWriter()
    writer.append(UInt32(objectType), bits: 5)
    if let index = AAC.sampleRates.firstIndex(of: sampleRate) {
      writer.append(UInt32(index), bits: 4)
    } else {
      writer.append(AAC.explicitRate, bits: 4)
      writer.append(UInt32(sampleRate), bits: 24)
    }
    writer.append(UInt32(configuration), bits: 4)
    // 1024 samples, no core coder, no extension.
    writer.append(0, bits: 3)
    bytes = writer.plain
  }

  /// Reads a configuration that fills `bytes`.
  public init(parsing bytes: ByteBuffer) throws(Invalid) {
    var reader = BitReader(plain: bytes)
    try self.init(reading: &reader, isWhole: true)
    self.bytes = Array(bytes.readableBytesView)
  }

  /// Samples that one access unit decodes to, at ``sampleRate``.
  public var samples: Int { coreSamples * sampleRate / coreSampleRate }

  /// What a decoder has to know before the first unit.
  public var format: SoundFormat {
    SoundFormat(
      codec: AAC.codec, sampleRate: sampleRate, channels: channels, configuration: bytes)
  }
}
