import RTPWire

extension Reception {
  /// After so many nanoseconds of media, the least delays are known by which sound and pictures are
  /// aligned; no `Duration`, because each packet asks.
  static let settlingTime: Int64 = 10_000_000_000

  /// Lets packets gather, where that is wanted, once nothing is learned from arrivals any more;
  /// but never where what is missing is asked for again.
  mutating func gatherIfSettled() {
    guard let time = configuration.gatheringTime, !isGathering, !isAttended,
      carrier.canGather, carrier.timePasses, let firstMedia, let lastMedia,
      firstMedia.nanoseconds(to: lastMedia) >= Self.settlingTime,
      !video.feedback.requests.contains(.nack),
      gatheringEnd.map({ now < $0 }) ?? true
    else { return }
    gatheringTime = max(time.wholeNanoseconds, 0)
    actions.append(.gather(time))
  }

  /// Whether packets were told to gather: what has come may wait to be read.
  public var isGathering: Bool { gatheringTime > 0 }

  /// Notes whether somebody waits for what comes: packets do not gather meanwhile.
  public mutating func attend(_ isAttended: Bool) {
    self.isAttended = isAttended
    if isAttended { stopGathering() }
  }

  private mutating func stopGathering() {
    guard isGathering else { return }
    gatheringTime = 0
    actions.append(.gather(.zero))
  }

  /// When packets have to come as they are sent again: what gathers at the end of the run would be
  /// missing in it.
  var gatheringEnd: Instant? {
    clock.durationEnd?.advanced(by: .zero - (configuration.gatheringTime ?? .zero) * 2)
  }

  /// Lets nothing gather any more where the run ends soon.
  mutating func stopGatheringBeforeEnd() {
    if let gatheringEnd, gatheringEnd <= now { stopGathering() }
  }

  /// The time up to which everything that has come is known: what gathers is not read yet, and may
  /// be what a gap waits for.
  var settled: Instant { now.advanced(byNanoseconds: -gatheringTime) }
}
