public import Bitstream
import NIOCore
public import RTPWire

/// Learns from payloads which codec a stream is of, and under which payload type.
///
/// Some payloads could be of either codec, others of one alone. One of the latter decides, unless
/// the same payload type has shown payloads that cannot be of that codec.
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
  /// What has been learned, once there is enough to tell.
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
