import Bitstream
import NIOCore
import RTPWire

/// Opus in RTP (RFC 7587): one packet of Opus in each packet, with a clock of 48 kHz.
struct OpusPayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["OPUS"]

  private let sound: SoundFormat

  var format: SoundFormat? { sound }

  init?(media: MediaDescription) {
    // Packets may have one channel or two by turns, and decoders make of each what is asked for.
    // One is enough where the sender says that it sends mono (§6.1). If it does not say so, that
    // means little: many describe no more than `opus/48000/2`.
    let channels = media.formatParameters["sprop-stereo"] == "0" ? 1 : 2
    sound = SoundFormat(codec: Opus.codec, sampleRate: Opus.sampleRate, channels: channels)
  }

  mutating func unpack(
    _ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector
  ) {
    guard let contents = Opus.TableOfContents(of: payload) else { return units.noteMalformed() }
    units.append(payload, format: sound, samples: contents.samples)
  }
}
