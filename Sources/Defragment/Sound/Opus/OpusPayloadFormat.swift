import Bitstream
import NIOCore
import RTPWire

/// Opus in RTP (RFC 7587): one packet of Opus in each packet, with a clock of 48 kHz.
struct OpusPayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["OPUS"]

  private(set) var format: SoundFormat?

  init?(media: MediaDescription) {
    // The description always names two channels; whether both are used is said elsewhere (§7).
    if media.formatParameters["sprop-stereo"] == "1" { format = Self.format(ofChannels: 2) }
  }

  mutating func unpack(
    _ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector
  ) {
    guard let contents = Opus.TableOfContents(of: payload) else { return units.noteMalformed() }
    // Once stereo, always stereo: the decoder makes both channels of a packet with one.
    if format == nil || contents.isStereo, format?.channels != 2 {
      format = Self.format(ofChannels: contents.isStereo ? 2 : 1)
    }
    guard let format else { return }
    units.append(payload, format: format, samples: contents.samples)
  }

  private static func format(ofChannels channels: Int) -> SoundFormat {
    SoundFormat(codec: Opus.codec, sampleRate: Opus.sampleRate, channels: channels)
  }
}
