import Bitstream
import NIOCore

/// A payload of samples of one size, interleaved by channel, without anything around them.
struct PCMPayload: Sendable {
  /// Samples a second that sound has: of telephones at the least, of studios at the most.
  ///
  /// At one a second, a packet would last for an hour; at 2^31, a pause of a second would be
  /// gigabytes of silence.
  static let sampleRates = 4_000...384_000

  let format: SoundFormat
  /// Bits of the smallest piece that holds whole samples of all channels.
  private let groupBits: Int
  /// Samples of each channel in that piece.
  private let groupSamples: Int

  /// `nil` for a rate that no sound has.
  ///
  /// - Parameters:
  ///   - format: what the decoder has to know.
  ///   - groupBits: a multiple of 8.
  ///   - groupSamples: samples of each channel in so many bits.
  init?(_ format: SoundFormat, groupBits: Int, groupSamples: Int = 1) {
    guard Self.sampleRates.contains(format.sampleRate) else { return nil }
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
