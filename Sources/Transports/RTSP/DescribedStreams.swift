internal import RTPWire

/// What the shell was told of the streams that it delivers; packets of others would pass for them.
struct DescribedStreams: Sendable, Hashable {
  private let selected: Int?
  private let tracks: [Int]
  private let streams: [Stream]

  private struct Stream: Sendable, Hashable {
    let kind: MediaKind
    let payloadType: UInt8?
    let encodingName: String?
    let clockRate: UInt32
    let profile: String
    let cryptos: [SDESCrypto]

    init(_ media: SessionDescription.Media) {
      kind = media.kind
      payloadType = media.description.payloadType
      encodingName = media.description.encodingName?.uppercased()
      clockRate = media.description.clockRate
      (profile, cryptos) = (media.profile, media.cryptos)
    }
  }

  /// `tracks` are the indices of the delivered streams in `description`.
  init(_ description: SessionDescription, selected: Int?, tracks: [Int]) {
    (self.selected, self.tracks) = (selected, tracks)
    streams = tracks.map { Stream(description.media[$0]) }
  }
}
