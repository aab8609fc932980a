public import Bitstream
public import Defragment
public import RTPProcessor
public import RTPWire

/// A snapshot of a session: the counters of every stage and of every track.
public struct StreamStatus: Sendable {
  /// Of the video, as are the counters that follow.
  public let phase: VideoStream.Phase
  /// What became of the packets.
  public let reception: ReceptionStatistics
  /// What became of the payloads; `nil` until the codec is known.
  public let defragmentation: DefragmentStatistics?
  /// The format of the pictures, by the active parameter sets.
  public let format: FormatDescription?
  /// The codec of the media, where it certainly is not the one that was stated.
  public let otherCodec: VideoCodec?
  /// Media time to wall-clock time, from sender reports.
  public let clock: ClockMapping
  /// Datagrams dropped before the codec was recognized.
  public let unrecognizedDatagrams: UInt64
  /// The payload types of streams that came before the codec was recognized.
  public let unrecognizedPayloadTypes: [UInt8]
  /// Whether what came of each of them speaks against each known codec; a short stream may leave it
  /// open.
  public let unrecognizedTypesAreRuledOut: Bool
  /// Whether nothing but RTCP has come.
  public let hasReportsAlone: Bool
  /// All tracks: first the described ones in that order, then those found among the packets.
  public let tracks: [TrackStatus]
  /// The sound that is handed on, which is one of them.
  public let sound: TrackStatus?
  /// What keeps sound and pictures in step; `nil` where nothing had to.
  public let alignment: SoundAlignment.Source?
  /// When media last came, on this connection or a previous one.
  public let lastMedia: Instant?

  init(of reception: Reception) {
    let video = reception.video
    phase = video.phase
    self.reception = video.reception
    defragmentation = video.defragmentation
    format = video.format
    otherCodec = video.otherCodec
    clock = video.clock
    unrecognizedDatagrams = video.unrecognizedDatagrams
    unrecognizedPayloadTypes = video.unrecognizedPayloadTypes
    unrecognizedTypesAreRuledOut = video.unrecognizedTypesAreRuledOut
    hasReportsAlone = video.hasReportsAlone && reception.soundTrack == nil
    tracks = reception.trackStatuses
    sound = reception.soundTrack.map(reception.status(ofOther:))
    alignment = reception.alignment.source
    lastMedia = reception.lastMediaOfRun
  }
}

extension Reception {
  /// A snapshot of the session.
  ///
  /// Until something is known of this connection, it is what was known of the previous one.
  public var status: StreamStatus { remembered?.status ?? StreamStatus(of: self) }

  /// What the previous connection left, while nothing is known of this one.
  var remembered: Former? { firstArrival == nil && places.isEmpty ? former : nil }

  fileprivate var trackStatuses: [TrackStatus] {
    var statuses: [TrackStatus] = []
    for (index, place) in places.enumerated() {
      switch place {
      case .video: statuses.append(TrackStatus(of: video, at: index))
      case .other(let index): statuses.append(status(ofOther: index))
      case .untracked: break
      }
    }
    // Where sound alone was found, there is no video to speak of.
    if places.isEmpty, soundTrack == nil || video.isReceiving || video.reception.received > 0 {
      statuses.append(TrackStatus(of: video, at: nil))
    }
    // A source that has not proved itself is not a track.
    let found = others.indices.filter { others[$0].place == nil && others[$0].ssrc != nil }
    return statuses + found.map(status(ofOther:))
  }

  fileprivate func status(ofOther index: Int) -> TrackStatus {
    TrackStatus(of: others[index], isChosen: index == soundTrack)
  }
}
