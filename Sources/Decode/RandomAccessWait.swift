import Defragment
import RTPWire

/// Whether decoding may go on: it begins with a random-access point, or with any other picture where
/// none comes and damaged pictures are shown.
///
/// The first such point may have been lost, and some streams have no other.
struct RandomAccessWait: Sendable {
  private enum State: Sendable {
    /// No picture has come yet.
    case idle
    /// This was the first unit that came.
    case waiting(since: MediaTime, arrival: Instant)
    case over
  }

  /// Decoding began without a random-access point, and none has come since.
  private(set) var lacksKeyPicture = false
  private var state = State.idle
  private let mayGiveUp: Bool
  private let patience: Duration
  /// So many requests for a key picture in vain show that none will come.
  private let requests: Int

  init(_ configuration: VideoDecoder.Configuration) {
    mayGiveUp = configuration.lossTreatment.showsDamage
    patience = configuration.keyPicturePatience
    requests = configuration.keyPictureRequests
  }

  /// Whether `unit` is to be decoded; `isPicture` says that its picture can be, by the parameter sets
  /// that are known.
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

  /// A unit that was admitted is being decoded.
  mutating func noteDecoding() { state = .over }

  /// Decoding begins anew.
  mutating func restart() { state = .idle }
}
