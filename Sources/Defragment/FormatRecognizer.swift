public import Bitstream
import NIOCore
public import RTPWire

/// Learns the codec and the payload type of a stream from its payloads.
///
/// Some payloads fit either codec, others only one. The latter decide, unless the same payload type
/// has carried payloads that rule that codec out.
public struct FormatRecognizer: Sendable {
  private struct Candidate: Hashable {
    let payloadType: UInt8
    let codec: VideoCodec
  }

  private var evidence: [Candidate: RecognitionEvidence] = [:]
  /// The result, once it is certain.
  public private(set) var result: (payloadType: UInt8, codec: VideoCodec)?

  private let formats: FormatCatalogue

  /// Makes a recognizer that knows `formats`.
  public init(_ formats: FormatCatalogue = .standard) { self.formats = formats }

  /// The codec of `payloadType`, by all of its payloads so far; `nil` while it is not certain.
  public func codec(of payloadType: UInt8) -> VideoCodec? {
    formats.codecs.first { codec in
      evidence[Candidate(payloadType: payloadType, codec: codec)]?.isConvincing == true
    }
  }

  /// Whether payloads of `payloadType` came, and speak against each codec.
  public func rulesOut(_ payloadType: UInt8) -> Bool {
    formats.codecs.allSatisfy { codec in
      let found = evidence[Candidate(payloadType: payloadType, codec: codec)]
      return found.map { $0.against > 0 && !$0.isConvincing } ?? false
    }
  }

  /// Looks at the payload of `packet`.
  public mutating func observe(_ packet: RTPPacket) {
    let payload = packet.payload
    guard payload.readableBytes > 0 else { return }
    for (codec, recognition) in formats.recognize(payload) {
      let candidate = Candidate(payloadType: packet.payloadType, codec: codec)
      evidence[candidate, default: RecognitionEvidence()].note(recognition)
      if result == nil, evidence[candidate]?.isConvincing == true {
        result = (packet.payloadType, codec)
      }
    }
  }
}
