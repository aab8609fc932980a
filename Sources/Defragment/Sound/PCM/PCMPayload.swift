import Bitstream
import NIOCore

/// A payload of samples of one size, interleaved by channel, without anything around them.
struct PCMPayload: Sendable {
  let format: SoundFormat
  /// Bits of the smallest piece that holds whole samples of all channels.
  private let groupBits: Int
  /// Samples of each channel in that piece.
  private let groupSamples: Int

  /// - Parameters:
  ///   - format: what the decoder has to know.
  ///   - groupBits: a multiple of 8.
  ///   - groupSamples: samples of each channel in so many bits.
  init(_ format: SoundFormat, groupBits: Int, groupSamples: Int = 1) {
    self.format = format
    self.groupBits = groupBits
    self.groupSamples = groupSamples
  }

  func unpack(_ payload: ByteBuffer, into units: inout SoundUnitCollector) {
    let groups = payload.readableBytes * 8 / groupBits
    var rest = payload
    guard let whole = rest.readSlice(length: groups * groupBits / 8), groups > 0 else {
      return units.noteMalformed()
    }
    // A part of a sample at the end is left out.
    if rest.readableBytes > 0 { units.noteMalformed() }
    units.append(whole, format: format, samples: groups * groupSamples)
  }
}
