import RTPWire

/// When a run is over because of time alone, over all of its connections.
struct RunClock: Sendable {
  /// How long the first packet of media may take; `nil` waits for ever.
  private var forFirstMedia: Duration?
  /// How long it may take from one packet to the next.
  private var forMoreMedia: Duration?
  /// How long the run lasts from the first packet on.
  private var forEverything: Duration?

  private(set) var startedAt: Instant
  private(set) var firstMedia: Instant?
  private(set) var lastMedia: Instant?

  /// Nobody waits for what is not in a recording, so there only the duration counts.
  init(of configuration: Reception.Configuration, on carrier: Reception.Carrier, at now: Instant) {
    if carrier.time == .live {
      forFirstMedia = configuration.firstMediaTimeout
      forMoreMedia = configuration.silenceTimeout
    }
    forEverything = configuration.duration
    startedAt = now
  }

  mutating func start(at now: Instant) { startedAt = now }

  mutating func noteMedia(at now: Instant) {
    firstMedia = firstMedia ?? now
    lastMedia = now
  }

  /// When the run is over if no more media comes, and why.
  var ending: (at: Instant, reason: EndReason)? {
    guard let firstMedia, let lastMedia else {
      return forFirstMedia.map { (startedAt.advanced(by: $0), .noMedia(after: $0)) }
    }
    let lost = forMoreMedia.map {
      (at: lastMedia.advanced(by: $0), reason: EndReason.mediaLost(after: $0))
    }
    let done = forEverything.map {
      (at: firstMedia.advanced(by: $0), reason: EndReason.durationReached)
    }
    guard let lost, let done else { return lost ?? done }
    return done.at <= lost.at ? done : lost
  }
}
