import Bitstream
import NIOCore
import RTPWire

/// Linear samples of 8 bits, offset binary, in RTP (RFC 3551 §4.5.10).
struct L8PayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["L8"]

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    guard let samples = PCMPayload(LinearPCM.l8, of: media) else { return nil }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}

/// Linear samples of 16 bits, in network byte order (RFC 3551 §4.5.11).
struct L16PayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["L16"]

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    guard let samples = PCMPayload(LinearPCM.l16, of: media, bytes: 2) else { return nil }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}

/// Linear samples of 24 bits, in network byte order (RFC 3190 §4).
struct L24PayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["L24"]

  private let samples: PCMPayload
  var format: SoundFormat? { samples.format }

  init?(media: MediaDescription) {
    guard let samples = PCMPayload(LinearPCM.l24, of: media, bytes: 3) else { return nil }
    self.samples = samples
  }

  func unpack(_ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector) {
    samples.unpack(payload, into: &units)
  }
}
