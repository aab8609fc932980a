public import NIOCore

/// Decoded sound: the samples of all channels, interleaved.
public struct SoundSamples: Sendable {
  /// Samples a second of each channel; never 0.
  public let sampleRate: Int
  /// At least 1.
  public let channels: Int
  /// From −1 to 1, exact for samples of up to 24 bits; a codec with losses may go beyond.
  public let values: [Float]

  public init(sampleRate: Int, channels: Int, values: [Float]) {
    self.sampleRate = max(sampleRate, 1)
    self.channels = max(channels, 1)
    self.values = values
  }

  /// Samples of each channel.
  public var count: Int { values.count / channels }

  /// The first `count` samples of each channel.
  public func prefix(_ count: Int) -> SoundSamples {
    SoundSamples(
      sampleRate: sampleRate, channels: channels,
      values: Array(values.prefix(max(count, 0) * channels)))
  }

  /// The samples as 16-bit integers, low byte first, as `pcm_s16le` names them.
  public func writeInt16(to buffer: inout ByteBuffer) {
    buffer.reserveCapacity(buffer.writerIndex + 2 * values.count)
    for value in values {
      buffer.writeInteger(Self.integer(value), endianness: .little)
    }
  }

  /// The nearest integer, ties to even, as libswresample rounds; a decoder may return what is no
  /// number.
  private static func integer(_ value: Float) -> Int16 {
    let scale = Float(1 << 15)
    let scaled = (value * scale).rounded(.toNearestOrEven)
    guard !scaled.isNaN else { return 0 }
    return Int16(min(max(scaled, -scale), scale - 1))
  }
}
