public import Bitstream
import NIOCore
public import RTPWire

/// Learns the codec and the payload type of a stream from its payloads.
///
/// Some payloads fit either codec, others only one. The latter decide, unless the same payload type
/// has carried payloads that rule that codec out.
public struct FormatRecognizer: Sendable {
  private struct Evidence: Sendable {
    var certain = 0
    var against = 0
  }

  private struct Candidate: Hashable {
    let payloadType: UInt8
    let codec: VideoCodec
  }

  private var evidence: [Candidate: Evidence] = [:]
  /// The result, once it is certain.
  public private(set) var result: (payloadType: UInt8, codec: VideoCodec)?

  private let formats: FormatCatalogue

  /// Makes a recognizer that knows `formats`.
  public init(_ formats: FormatCatalogue = .standard) { self.formats = formats }

  /// Looks at the payload of `packet`.
  public mutating func observe(_ packet: RTPPacket) {
    let payload = packet.payload
    guard result == nil, payload.readableBytes > 0 else { return }
    for (codec, recognition) in formats.recognize(payload) {
      let candidate = Candidate(payloadType: packet.payloadType, codec: codec)
      switch recognition {
      case .certain: evidence[candidate, default: Evidence()].certain += 1
      case .no: evidence[candidate, default: Evidence()].against += 1
      case .possible: break
      }
      if let found = evidence[candidate], found.certain > 2 * found.against {
        result = (packet.payloadType, codec)
      }
    }
  }
}
