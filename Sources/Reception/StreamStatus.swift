public import Bitstream
public import Defragment
public import RTPProcessor

/// What a session has been through so far: the counters of every stage, and of every track.
public struct StreamStatus: Sendable {
  /// Of the track that is decoded, as are the counters that follow.
  public let phase: VideoStream.Phase
  public let reception: ReceptionStatistics
  public let defragmentation: DefragmentStatistics?
  public let format: FormatDescription?
  public let clock: ClockMapping
  /// Datagrams that came before the codec was recognized and were let go.
  public let unrecognizedDatagrams: UInt64
  /// All tracks: those that were described in that order, then those found among the packets.
  public let tracks: [TrackStatus]

  init(of reception: Reception) {
    let video = reception.video
    phase = video.phase
    self.reception = video.reception
    defragmentation = video.defragmentation
    format = video.format
    clock = video.clock
    unrecognizedDatagrams = video.unrecognizedDatagrams
    tracks = reception.trackStatuses
  }
}

extension Reception {
  /// What the session has been through so far.
  public var status: StreamStatus { StreamStatus(of: self) }

  fileprivate var trackStatuses: [TrackStatus] {
    var statuses: [TrackStatus] = []
    for (index, place) in places.enumerated() {
      switch place {
      case .video: statuses.append(TrackStatus(of: video, at: index))
      case .other(let other): statuses.append(TrackStatus(of: others[other]))
      case .untracked: break
      }
    }
    if places.isEmpty { statuses.append(TrackStatus(of: video, at: nil)) }
    // What has not proved itself is no track.
    let found = others.filter { $0.place == nil && $0.ssrc != nil }
    return statuses + found.map(TrackStatus.init)
  }
}
