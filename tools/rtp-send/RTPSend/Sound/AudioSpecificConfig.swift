import NIOCore

/// What a decoder of AAC has to know (ISO/IEC 14496-3 §1.6.2.1), as far as an ADTS header can say
/// it.
struct AudioSpecificConfig: Sendable, Equatable {
  /// 2 is AAC LC.
  var objectType: UInt8 = 2
  /// The place in ``SoundFormat/aacRates``.
  var rateIndex: UInt8
  var channels: UInt8

  /// AAC LC with a rate that has a number.
  init(rate: Int, channels: Int) {
    rateIndex = UInt8(clamping: SoundFormat.aacRates.firstIndex(of: rate) ?? 3)
    self.channels = Self.configuration(ofChannels: channels)
  }

  private static func configuration(ofChannels count: Int) -> UInt8 {
    count == 8 ? 7 : UInt8(clamping: count)
  }

  /// The fields of the ADTS header that `frame` begins with, or `nil` (§1.A.2.2.1).
  init?(adts frame: ByteBuffer) {
    guard let bytes = frame.getBytes(at: frame.readerIndex, length: 7), bytes[0] == 0xFF,
      bytes[1] & 0xF6 == 0xF0, Int(bytes[2] >> 2 & 0xF) < SoundFormat.aacRates.count
    else { return nil }
    objectType = (bytes[2] >> 6) + 1
    rateIndex = bytes[2] >> 2 & 0xF
    channels = (bytes[2] & 1) << 2 | bytes[3] >> 6
  }

  /// What a stream has whose first frame is `first`: what its ADTS header says, and otherwise AAC
  /// LC with a rate and channels that somebody else says.
  init(describing first: ByteBuffer?, rate: Int, channels: Int) {
    self = first.flatMap(Self.init(adts:)) ?? Self(rate: rate, channels: channels)
    // 0 says that a table in the stream describes the channels.
    if self.channels == 0 { self.channels = Self.configuration(ofChannels: channels) }
  }

  /// How many channels a decoder gives: a configuration of 7 has eight (ISO/IEC 14496-3 §1.6.3.5).
  var channelCount: Int { channels == 7 ? 8 : Int(channels) }

  /// Samples a second.
  var rate: Int { SoundFormat.aacRates[Int(rateIndex)] }

  /// The sixteen bits of an AudioSpecificConfig whose frames have 1024 samples.
  var bits: UInt16 { UInt16(objectType) << 11 | UInt16(rateIndex) << 7 | UInt16(channels) << 3 }

  var bytes: [UInt8] { [UInt8(bits >> 8), UInt8(truncatingIfNeeded: bits)] }

  /// The ADTS header, without a checksum, of a frame with `length` bytes.
  func adtsHeader(of length: Int) -> [UInt8] {
    let whole = UInt16(clamping: length + 7) & 0x1FFF
    // A buffer fullness of 0x7FF says that the bit rate varies.
    return [
      0xFF, 0xF1, (objectType - 1) << 6 | rateIndex << 2 | channels >> 2,
      (channels & 3) << 6 | UInt8(whole >> 11), UInt8(truncatingIfNeeded: whole >> 3),
      UInt8(truncatingIfNeeded: whole << 5) | 0x1F, 0xFC,
    ]
  }
}
