import Bitstream
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
    /// Decoding began with a picture of this order count, which others may lead.
    case begun(Int)
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

  /// Whether to decode `unit`; `place` is known if the known parameter sets allow that.
  mutating func admits(_ unit: AccessUnit, at place: PictureOrder?) -> Bool {
    if unit.isRandomAccess {
      lacksKeyPicture = false
      return true
    }
    switch state {
    case .over:
      return true
    case .begun(let first):
      // In an open group, these refer to pictures before the first one (RASL pictures in H.265).
      if let place, place.isBidirectional, place.count < first { return false }
      // Some may follow even the second field of the first picture.
      if place.map({ $0.beginsSequence || $0.count > first + 1 }) ?? true { state = .over }
      return true
    case .idle:
      if mayGiveUp, place != nil { state = .waiting(since: unit.time, arrival: unit.lastArrival) }
      return false
    case .waiting(let start, let arrival):
      guard place != nil else { return false }
      let ticks = unit.time.ticks.subtractingReportingOverflow(start.ticks).partialValue
      let media = MediaTime(ticks: ticks, timescale: unit.time.timescale).seconds
      let seconds = max(media, arrival.duration(to: unit.lastArrival) / .seconds(1))
      lacksKeyPicture =
        seconds >= patience / .seconds(1) || unit.unansweredKeyPictureRequests >= requests
      return lacksKeyPicture
    }
  }

  /// Notes that `unit`, which was admitted, is being decoded.
  mutating func noteDecoding(of unit: AccessUnit, at place: PictureOrder?) {
    switch state {
    case .begun, .over: break
    case .idle, .waiting:
      let mayBeLed =
        unit.isRandomAccess && unit.dependency?.references != PictureDependency.References.none
      state = if mayBeLed, let place { .begun(place.count) } else { .over }
    }
  }

  /// Notes that decoding goes on behind the pictures that lead the first one.
  mutating func noteDecoding() { state = .over }

  /// Decoding restarts.
  mutating func restart() { state = .idle }
}
