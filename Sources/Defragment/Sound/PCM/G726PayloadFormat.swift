import Bitstream
import NIOCore
import RTPWire

/// G.726 in RTP (RFC 3551 §4.5.4), in both orders of its codes within a byte.
struct G726PayloadFormat: SoundPayloadFormat {
  private static let inAAL2 = "AAL2-G726-"
  private static let inRTP = "G726-"

  static let encodingNames = G726.codeBits.keys.sorted().flatMap {
    ["\(inRTP)\($0)", "\(inAAL2)\($0)"]
  }

  static func codecName(of encodingName: String) -> String { codec(of: encodingName).name }

  private static func codec(of encodingName: String) -> SoundCodec {
    encodingName.uppercased().hasPrefix(inAAL2)
      ? G726.mostSignificantFirst : G726.leastSignificantFirst
  }

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    guard let name = media.encodingName?.uppercased(),
      let bits = name.split(separator: "-").last.flatMap({ Int($0) }).flatMap({ G726.codeBits[$0] })
    else { return nil }
    // The codes of 8 samples are a whole number of bytes at each rate.
    let group = bits == 2 || bits == 4 ? (8, 8 / bits) : (8 * bits, 8)
    let format = SoundFormat(
      codec: Self.codec(of: name),
      sampleRate: media.saysClockRate ? media.clockSampleRate : 8000, channels: 1, codeBits: bits)
    guard let samples = PCMPayload(format, groupBits: group.0, groupSamples: group.1) else {
      return nil
    }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}
