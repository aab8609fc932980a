import Bitstream
import NIOCore
import RTPWire

/// G.722 in RTP (RFC 3551 §4.5.2): two samples a byte.
///
/// By a mistake of RFC 1890 that nobody can mend, the clock counts 8000 ticks a second while there
/// are 16,000 samples. Some senders describe a clock of 16,000, and mean it.
struct G722PayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["G722"]
  private static let mistakenClockRate = 8_000

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    let clock = media.clockSampleRate
    let format = SoundFormat(
      codec: G722.codec, sampleRate: clock == Self.mistakenClockRate ? 2 * clock : clock,
      channels: 1)
    guard
      let samples = PCMPayload(format, groupBits: 8, groupSamples: G722.samplesPerByte)
    else { return nil }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}
