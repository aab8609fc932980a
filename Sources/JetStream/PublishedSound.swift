import Bitstream
import Defragment
import NIOCore
import RTPWire

/// How sound of one format goes in RTP: its name, and what precedes each unit.
struct PublishedSound: Hashable {
  /// The `a=rtpmap` of it, without the payload type.
  let map: String
  /// The `a=fmtp` of it; empty for none.
  let parameters: String
  /// Whether each unit follows a header with its length (RFC 3640 §3.3.6).
  let hasHeaders: Bool

  /// The largest access unit that 13 bits of length can say.
  private static let largestUnit = 8191

  /// - Throws: ``JetStreamError/unsupportedCodec(_:)``.
  init(_ format: SoundFormat, clockRate: UInt32) throws(JetStreamError) {
    let channels = format.channels > 1 ? "/\(format.channels)" : ""
    switch format.codec {
    case AAC.codec:
      map = "mpeg4-generic/\(clockRate)/\(format.channels)"
      parameters =
        "streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;"
        + "indexdeltalength=3;config=\(format.configuration.hexadecimal)"
      hasHeaders = true
      return
    case Opus.codec:
      map = "opus/48000/2"
      parameters = "sprop-stereo=\(format.channels == 1 ? 0 : 1)"
    case G726.leastSignificantFirst, G726.mostSignificantFirst:
      guard let rate = G726.codeBits.first(where: { $0.value == format.codeBits })?.key else {
        throw .unsupportedCodec(format.codec.name)
      }
      let prefix = format.codec == G726.mostSignificantFirst ? "AAL2-" : ""
      map = "\(prefix)G726-\(rate)/\(clockRate)"
      parameters = ""
    case G711.muLaw, G711.aLaw, G722.codec, LinearPCM.l8, LinearPCM.l16, LinearPCM.l24:
      map = "\(format.codec.name.uppercased())/\(clockRate)\(channels)"
      parameters = ""
    default: throw .unsupportedCodec(format.codec.name)
    }
    hasHeaders = false
  }

  /// What precedes `unit` in its packet; `nil` if no packet can hold it.
  func header(of unit: ByteBuffer) -> [UInt8]? {
    guard hasHeaders else { return [] }
    guard unit.readableBytes <= Self.largestUnit else { return nil }
    let size = UInt16(clamping: unit.readableBytes) << 3
    return [0, 16, UInt8(size >> 8), UInt8(size & 0xFF)]
  }
}
