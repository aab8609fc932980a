import Bitstream
import NIOCore
import RTPWire

/// G.711 µ-law in RTP (RFC 3551 §4.5.14): a byte a sample, at any rate and with any channels.
struct MuLawPayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["PCMU"]

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    guard let samples = PCMPayload(G711.muLaw, of: media) else { return nil }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}

/// G.711 A-law in RTP (RFC 3551 §4.5.14).
struct ALawPayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["PCMA"]

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    guard let samples = PCMPayload(G711.aLaw, of: media) else { return nil }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}

extension PCMPayload {
  /// Samples of `bytes` bytes each, as many a second as the clock ticks.
  ///
  /// `nil` for more channels than can be told apart, as SMPTE ST 2110-30 has them: what is beyond
  /// the eighth would be taken for the next sample.
  init?(_ codec: SoundCodec, of media: MediaDescription, bytes: Int = 1) {
    let channels = media.soundChannels
    guard media.channels ?? 1 <= channels else { return nil }
    self.init(
      SoundFormat(codec: codec, sampleRate: media.clockSampleRate, channels: channels),
      groupBits: 8 * bytes * channels)
  }
}
