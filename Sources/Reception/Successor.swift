import Bitstream
import Defragment
import NIOCore
import RTPWire

/// Packets of other payload types, one of which the sender may have gone on with.
///
/// A sender that is set up anew may change it, and nothing tells where the media is not described.
/// Sound beside the pictures has another type too, so it must be certain that these are pictures
/// and that they can be decoded, and the former type must have stopped.
struct Successor: Sendable {
  /// More types than a sender has beside the pictures: sound, its repair, comfort noise.
  static let maximumTypes = 8

  private struct Candidate: Sendable {
    var preroll: Preroll
    var codec: VideoCodec?
    /// Whether something came to begin decoding with.
    var hasEntryPoint = false
  }

  /// When the first of them came.
  private let beginning: Instant
  private let formats: FormatCatalogue
  private var candidates: [UInt8: Candidate] = [:]

  /// Begins with the first that comes, at `now`.
  init(_ formats: FormatCatalogue, at now: Instant) {
    self.formats = formats
    beginning = now
  }

  /// Keeps `datagram`, which holds `packet`.
  mutating func keep(_ datagram: Datagram, _ packet: RTPPacket) {
    let type = packet.payloadType
    var candidate = candidates.removeValue(forKey: type) ?? Candidate(preroll: Preroll(formats))
    guard candidates.count < Self.maximumTypes else { return }
    // What was said of the stream does not hold for another type.
    let outcome = candidate.preroll.keep(datagram, media: MediaDescription())
    if case .recognized(let codec, _) = outcome { candidate.codec = codec }
    if formats.isEntryPoint(packet.payload, parameterSetsKnown: false) {
      candidate.hasEntryPoint = true
    }
    candidates[type] = candidate
  }

  /// The codec and the payload type, once they are certain and decoding can begin.
  var result: (codec: VideoCodec, payloadType: UInt8)? {
    for (type, candidate) in candidates where candidate.hasEntryPoint {
      if let codec = candidate.codec { return (codec, type) }
    }
    return nil
  }

  /// Whether it goes on at the same time as a packet of the former type that came at `arrival`:
  /// networks reorder packets within `window`, no further.
  func isBeside(_ arrival: Instant, window: Duration) -> Bool {
    beginning.advanced(by: window) < arrival
  }

  /// Removes and returns the datagrams of `payloadType`, in order of arrival.
  mutating func take(_ payloadType: UInt8) -> [Datagram] {
    Array(candidates[payloadType]?.preroll.takeAll() ?? [])
  }
}
