import Defragment
import RTPWire

/// Whether decoding may proceed: it begins with a random-access point, or anywhere if none comes
/// and damaged pictures are shown.
///
/// The first such point may have been lost, and some streams have no other.
struct RandomAccessWait: Sendable {
  private enum State: Sendable {
    /// No picture has come yet.
    case idle
    /// The first unit came.
    case waiting(since: MediaTime, arrival: Instant)
    case over
  }

  /// Decoding began without a random-access point, and none has come since.
  private(set) var lacksKeyPicture = false
  private var state = State.idle
  private let mayGiveUp: Bool
  private let patience: Duration
  /// How many unanswered requests for a key picture show that none will come.
  private let requests: Int

  init(_ configuration: VideoDecoder.Configuration) {
    mayGiveUp = configuration.lossTreatment.showsDamage
    patience = configuration.keyPicturePatience
    requests = configuration.keyPictureRequests
  }

  /// Whether to decode `unit`; `isPicture` says whether the known parameter sets allow that.
  mutating func admits(_ unit: AccessUnit, isPicture: Bool) -> Bool {
    if unit.isRandomAccess {
      lacksKeyPicture = false
      return true
    }
    switch state {
    case .over:
      return true
    case .idle:
      if mayGiveUp, isPicture { state = .waiting(since: unit.time, arrival: unit.lastArrival) }
      return false
    case .waiting(let start, let arrival):
      guard isPicture else { return false }
      let ticks = unit.time.ticks.subtractingReportingOverflow(start.ticks).partialValue
      let media = MediaTime(ticks: ticks, timescale: unit.time.timescale).seconds
      let seconds = max(media, arrival.duration(to: unit.lastArrival) / .seconds(1))
      lacksKeyPicture =
        seconds >= patience / .seconds(1) || unit.unansweredKeyPictureRequests >= requests
      return lacksKeyPicture
    }
  }

  /// Notes that an admitted unit is being decoded.
  mutating func noteDecoding() { state = .over }

  /// Decoding restarts.
  mutating func restart() { state = .idle }
}
