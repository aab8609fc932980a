internal import RTPWire

/// What the shell was told of the streams that it delivers; packets of others would pass for them.
struct DescribedStreams: Sendable, Equatable {
  private let selected: Int?
  private let tracks: [Int]
  private let streams: [Stream]

  private struct Stream: Sendable, Equatable {
    let kind: MediaKind
    let payloadType: UInt8?
    let encodingName: String?
    let clockRate: UInt32
    let profile: String
    let keys: Keys

    init(_ media: SessionDescription.Media) {
      kind = media.kind
      payloadType = media.description.payloadType
      encodingName = media.description.encodingName?.uppercased()
      clockRate = media.description.clockRate
      profile = media.profile
      keys = Keys(cryptos: media.cryptos)
    }
  }

  /// Each description has its own copies, which may be of the same keys.
  private struct Keys: Sendable, Equatable {
    let cryptos: [SDESCrypto]

    static func == (one: Keys, other: Keys) -> Bool {
      one.cryptos.elementsEqual(other.cryptos) { $0.isSame(as: $1) }
    }
  }

  /// `tracks` are the indices of the delivered streams in `description`.
  init(_ description: SessionDescription, selected: Int?, tracks: [Int]) {
    (self.selected, self.tracks) = (selected, tracks)
    streams = tracks.map { Stream(description.media[$0]) }
  }
}
