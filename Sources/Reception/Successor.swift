import Bitstream
import Defragment
import RTPWire

/// Packets of other payload types, one of which the sender may have gone on with.
///
/// A sender that is set up anew may change it, and nothing tells where the media is not described.
/// Sound beside the pictures has another type too, so it must be certain that these are pictures
/// and that they can be decoded, and the former type must have stopped. Types that are listed for
/// the pictures need not be recognized.
struct Successor: Sendable {
  /// What has come of a type.
  private struct Progress: Sendable {
    let payloadType: UInt8
    var hasParameterSets = false
    /// Whether something came behind them: they alone are no pictures.
    var hasMore = false
  }

  /// When the first of them came.
  let beginning: Instant
  private let formats: FormatCatalogue
  private var preroll: Preroll
  /// The first to come first.
  private var types: [Progress] = []

  /// Begins with the first that comes, at `now`.
  init(_ formats: FormatCatalogue, at now: Instant) {
    self.formats = formats
    preroll = Preroll(formats)
    beginning = now
  }

  /// Keeps `datagram`, which holds `packet`.
  mutating func keep(_ datagram: Datagram, _ packet: RTPPacket) {
    // What was said of the stream does not hold for another type.
    _ = preroll.keep(datagram, media: MediaDescription())
    let type = packet.payloadType
    let index = types.firstIndex { $0.payloadType == type } ?? types.count
    if index == types.count { types.append(Progress(payloadType: type)) }
    if formats.isEntryPoint(packet.payload, parameterSetsKnown: false) {
      types[index].hasParameterSets = true
    } else if types[index].hasParameterSets {
      types[index].hasMore = true
    }
  }

  /// The codec and the payload type, once they are certain and decoding can begin.
  var result: (codec: VideoCodec, payloadType: UInt8)? {
    for progress in types where progress.hasMore {
      let type = progress.payloadType
      if let codec = preroll.codec(of: type) { return (codec, type) }
    }
    return nil
  }

  /// The types of the sources that have proved themselves.
  var provenTypes: [UInt8] { preroll.payloadTypes }

  /// Whether it goes on at the same time as a packet of the former type that came at `arrival`:
  /// networks reorder packets within `window`, no further.
  func isBeside(_ arrival: Instant, window: Duration) -> Bool {
    beginning.advanced(by: window) < arrival
  }

  /// Removes and returns the datagrams of `payloadType`, and those of others that came behind them,
  /// in order of arrival.
  mutating func take(_ payloadType: UInt8) -> (own: [Datagram], behind: [Datagram]) {
    let all = Array(preroll.takeAll())
    let last = all.lastIndex { $0.payloadType == payloadType } ?? 0
    return (all.filter { $0.payloadType == payloadType }, Array(all.dropFirst(last + 1)))
  }
}
