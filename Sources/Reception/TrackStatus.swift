public import Bitstream
public import Defragment
public import RTPProcessor
public import RTPWire

/// A snapshot of one track of a session.
public struct TrackStatus: Sendable {
  /// Its place in the far end's description, from 0; `nil` if it was found among the packets.
  public let place: Int?
  public let kind: MediaKind
  /// The encoding name, such as `H264` or `PCMU`; `nil` while unknown.
  public let codecName: String?
  public let payloadType: UInt8?
  /// The payload types that its description lists beside its first one (RFC 8866 §5.14).
  public let otherPayloadTypes: [UInt8]
  /// The source of its packets, once one has proved itself.
  public let ssrc: UInt32?
  /// Timestamp ticks per second.
  public let clockRate: UInt32
  /// Whether this is the session's video, or its sound; all others are only counted.
  public let isChosen: Bool
  /// Its sound; `nil` for tracks that are only counted.
  public let sound: SoundStatus?
  public let reception: ReceptionStatistics
  /// Media time to wall-clock time, from sender reports.
  public let clock: ClockMapping

  /// The interarrival jitter of RFC 3550 §6.4.1, in seconds.
  public var jitter: Double { reception.jitter / Double(max(1, clockRate)) }
}

/// What is known of the sound of a track.
public struct SoundStatus: Sendable {
  /// What its decoder has to know; `nil` before that is known.
  public let format: SoundFormat?
  public let statistics: SoundStatistics
}

extension TrackStatus {
  init(of track: Track, isChosen: Bool) {
    place = track.place
    kind = track.media.kind
    let media = track.current
    codecName = media.encodingName
    payloadType = media.payloadType
    otherPayloadTypes = track.media.otherTypes
    ssrc = track.ssrc
    clockRate = track.clockRate
    self.isChosen = isChosen
    sound = track.sound.map { SoundStatus(format: $0.format, statistics: $0.statistics) }
    reception = track.processor.statistics
    clock = track.processor.clock
  }

  init(of video: VideoStream, at place: Int?) {
    self.place = place
    kind = .video
    if case .receiving(let codec, let type) = video.phase {
      codecName = codec.encodingName
      payloadType = type
    } else {
      codecName = video.media.encodingName
      payloadType = video.media.payloadType
    }
    otherPayloadTypes = video.media.otherTypes
    ssrc = video.ssrc
    clockRate = video.media.clockRate
    isChosen = true
    sound = nil
    reception = video.reception
    clock = video.clock
  }
}
