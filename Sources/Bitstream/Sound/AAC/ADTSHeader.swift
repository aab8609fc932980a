public import NIOCore

/// The header of an AAC access unit in an Audio Data Transport Stream (ISO/IEC 14496-3 §1.A.2.2).
public struct ADTSHeader: Sendable, Hashable {
  /// Bytes of a header without a checksum.
  public static let shortestLength = 7
  /// Bytes of the longest frame that a header can announce.
  public static let longestFrame = 0x1FFF

  /// 1 … 4: AAC main, LC, SSR or LTP.
  public let objectType: Int
  /// Samples a second of the core.
  public let sampleRate: Int
  /// 1 … 8.
  public let channels: Int
  /// Bytes of the frame with this header.
  public let frameLength: Int
  /// Bytes of this header, with its checksum.
  public let length: Int
  /// Access units in the frame, 1 … 4; nearly always 1.
  public let units: Int

  /// The header of a frame around `byteCount` bytes of `configuration`'s stream.
  ///
  /// `nil` where a header cannot say what it is: object types beyond 4, sampling frequencies or
  /// loudspeakers out of the ordinary, units of another length than 1024 samples, or too many
  /// bytes. Replicated bands are left to the decoder to find, as usual in ADTS.
  public init?(of configuration: AudioSpecificConfig, byteCount: Int) {
    guard (1...4).contains(configuration.objectType), configuration.coreSamples == 1024,
      AAC.sampleRates.contains(configuration.coreSampleRate),
      (1...7).contains(configuration.channelConfiguration),
      (0...Self.longestFrame - Self.shortestLength).contains(byteCount)
    else { return nil }
    objectType = configuration.objectType
    sampleRate = configuration.coreSampleRate
    channels = AAC.channels[configuration.channelConfiguration]
    length = Self.shortestLength
    frameLength = length + byteCount
    units = 1
  }

  /// Reads the header at the start of `bytes`; `nil` if there is none.
  public init?(at bytes: ByteBuffer) {
    guard
      bytes.getInteger(at: bytes.readerIndex, as: UInt16.self).map({ $0 & 0xFFF6 == 0xFFF0 })
        == true
    else { return nil }
    var reader = BitReader(plain: bytes)
    guard (try? reader.skip(15)) != nil, let isUnprotected = try? reader.bit(),
      let profile = try? reader.bits(2), let rate = try? reader.bits(4),
      (try? reader.skip(1)) != nil, let configuration = try? reader.bits(3),
      (try? reader.skip(4)) != nil, let frameLength = try? reader.bits(13),
      (try? reader.skip(11)) != nil, let blocks = try? reader.bits(2)
    else { return nil }
    guard AAC.sampleRates.indices.contains(Int(rate)), (1...7).contains(configuration) else {
      return nil
    }
    objectType = Int(profile) + 1
    sampleRate = AAC.sampleRates[Int(rate)]
    channels = AAC.channels[Int(configuration)]
    units = Int(blocks) + 1
    self.frameLength = Int(frameLength)
    // With a checksum and several units, the places of the later ones come before it.
    length = Self.shortestLength + (isUnprotected ? 0 : 2 * units)
    guard self.frameLength >= length else { return nil }
  }

  /// What a decoder of the frame's content has to know.
  public var configuration: AudioSpecificConfig? {
    AudioSpecificConfig(objectType: objectType, sampleRate: sampleRate, channels: channels)
  }

  /// The header as it is sent: MPEG-4, without a checksum, of a stream of variable rate.
  public var bytes: [UInt8] {
    var writer = BitWriter()
    writer.append(0xFFF, bits: 12)
    // MPEG-4, layer 0, no checksum.
    writer.append(0b0001, bits: 4)
    writer.append(UInt32(objectType - 1), bits: 2)
    writer.append(UInt32(AAC.sampleRates.firstIndex(of: sampleRate) ?? 0), bits: 4)
    writer.append(0, bits: 1)
    writer.append(UInt32(AAC.channelConfiguration(of: channels) ?? 0), bits: 3)
    writer.append(0, bits: 4)
    writer.append(UInt32(frameLength - length + Self.shortestLength), bits: 13)
    writer.append(0x7FF, bits: 11)
    writer.append(UInt32(units - 1), bits: 2)
    return writer.plain
  }
}
