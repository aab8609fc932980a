import RTPWire

/// When time alone ends a run, across all of its connections.
struct RunClock: Sendable {
  /// How long to wait for the first packet of media; `nil` waits forever.
  private var forFirstMedia: Duration?
  /// The longest pause between two packets.
  private var forMoreMedia: Duration?
  /// How long the run lasts, from the first packet.
  private var forEverything: Duration?

  private(set) var startedAt: Instant
  private(set) var firstMedia: Instant?
  private(set) var lastMedia: Instant?

  /// A recording is never waited for, so only the duration applies to it.
  init(of configuration: Reception.Configuration, on carrier: Reception.Carrier, at now: Instant) {
    if carrier.timePasses {
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

  /// When the run has lasted as long as it is to.
  var durationEnd: Instant? {
    guard let firstMedia, let forEverything else { return nil }
    return firstMedia.advanced(by: forEverything)
  }

  /// When and why the run ends if no more media comes.
  var ending: (at: Instant, reason: EndReason)? {
    guard let lastMedia else {
      return forFirstMedia.map { (startedAt.advanced(by: $0), .noMedia(after: $0)) }
    }
    let lost = forMoreMedia.map {
      (at: lastMedia.advanced(by: $0), reason: EndReason.mediaLost(after: $0))
    }
    let done = durationEnd.map { (at: $0, reason: EndReason.durationReached) }
    guard let lost, let done else { return lost ?? done }
    return done.at <= lost.at ? done : lost
  }
}
