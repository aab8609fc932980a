import RTPWire

/// When a session is over because of time alone.
extension Reception {
  /// How long packets may still come behind the sender's goodbye, when it has overtaken them.
  static let goodbyeGrace: Duration = .milliseconds(500)
  /// How long media that is of no use may come to whoever listens, where nothing else is asked for.
  static let patienceWithUnusable: Duration = .seconds(10)
  /// So many packets of another type are a stream, and no stray.
  private static let unusableMinimum: UInt64 = 10

  /// What is over if nothing more happens, and when.
  var ending: (at: Instant, end: End)? {
    var earliest: (at: Instant, end: End)?
    func consider(_ at: Instant, _ end: End) {
      if earliest.map({ at < $0.at }) ?? true { earliest = (at, end) }
    }
    if let ending = clock.ending { consider(ending.at, .run(ending.reason)) }
    if let duration = configuration.duration, let firstArrival, clock.firstMedia == nil {
      consider(firstArrival.advanced(by: duration), .run(unusableMedia ?? .durationReached))
    }
    guard carrier.time == .live else { return earliest }
    if video.hasSaidGoodbye, endsWithGoodbye, let lastMedia {
      consider(lastMedia.advanced(by: Self.goodbyeGrace), .connection(.goodbye))
    }
    if let silence, let openedAt {
      let start = lastMedia ?? openedAt
      let reason =
        lastMedia == nil ? EndReason.noMedia(after: silence) : .mediaLost(after: silence)
      consider(start.advanced(by: silence), .connection(reason))
    }
    // Whoever asked for media has an end without this; a listener would wait for ever.
    if carrier.isPassive, let firstArrival, let unusableMedia {
      let patience = configuration.firstMediaTimeout ?? Self.patienceWithUnusable
      consider(firstArrival.advanced(by: patience), .connection(unusableMedia))
    }
    return earliest
  }

  /// Whether the sender's goodbye ends the connection.
  ///
  /// A listener that goes on has nothing to connect to: it waits for the next sender where it is.
  private var endsWithGoodbye: Bool {
    !carrier.isPassive || configuration.reconnectionSilence == nil
  }

  /// How long media may pause before the connection counts as dead; `nil` waits for ever.
  private var silence: Duration? {
    guard !carrier.isPassive else { return nil }
    // A carrier that watches for itself knows more of the reasons, and is given the time to tell.
    return carrier.longestSilence.map { $0 * 2 } ?? configuration.reconnectionSilence
  }

  /// The payload types of streams that are of no use.
  var unusableTypes: [UInt8] {
    let ignored = video.ignoredPayloadTypes.filter { $0.value >= Self.unusableMinimum }.keys
    return Set(video.unrecognizedPayloadTypes + ignored).sorted()
  }
}
