import RTPProcessor
import RTPWire

/// The endings that time alone brings, and the one that unusable media brings.
extension Reception {
  /// How long a listener tolerates unusable media if nothing else ends the run.
  static let patienceWithUnusable: Duration = .seconds(10)
  /// This many packets of another type are a stream and not a stray.
  private static let unusableMinimum: UInt64 = 10

  /// What ends, and when, if nothing more happens.
  var ending: (at: Instant, end: End)? {
    var earliest: (at: Instant, end: End)?
    func consider(_ at: Instant, _ end: End) {
      if earliest.map({ at < $0.at }) ?? true { earliest = (at, end) }
    }
    if let ending = clock.ending { consider(ending.at, .run(ending.reason)) }
    if let duration = configuration.duration, let firstArrival, clock.firstMedia == nil {
      consider(firstArrival.advanced(by: duration), .run(unusableMedia ?? .durationReached))
    }
    guard carrier.timePasses else { return earliest }
    if livesBySound ? soundHasSaidGoodbye : video.hasSaidGoodbye, endsWithGoodbye, let lastMedia {
      consider(lastMedia.advanced(by: RTPProcessor.goodbyeGrace), .connection(.goodbye))
    }
    if let silence, let openedAt {
      let start = lastMedia ?? openedAt
      let reason =
        lastMedia == nil ? EndReason.noMedia(after: silence) : .mediaLost(after: silence)
      consider(start.advanced(by: silence), .connection(reason))
    }
    // As long as is waited where the codec is to be recognized.
    if let other = video.otherCodec, let firstMedia {
      consider(firstMedia.advanced(by: Preroll.patience), .connection(.otherCodec(other)))
    }
    // With a timeout the run ends anyway; a listener without one would wait forever.
    if carrier.isPassive, let firstArrival, let unusableMedia {
      let patience = configuration.firstMediaTimeout ?? Self.patienceWithUnusable
      consider(firstArrival.advanced(by: patience), .connection(unusableMedia))
    }
    return earliest
  }

  /// Whether an RTCP BYE ends the connection.
  ///
  /// A listener that reconnects has nothing to connect to: it waits for the next sender as it is.
  private var endsWithGoodbye: Bool {
    !carrier.isPassive || configuration.reconnectionSilence == nil
  }

  /// Ends the connection where all that came is of no known codec.
  mutating func endIfUnrecognized() {
    guard case .unrecognized(let payloadTypes) = video.phase, soundDelivered == 0 else { return }
    end(.connection(.unrecognizedMedia(payloadTypes: payloadTypes)))
  }

  /// The payload types of unusable streams.
  var unusableTypes: [UInt8] {
    let ignored = video.ignoredPayloadTypes.filter { $0.value >= Self.unusableMinimum }.keys
    return Set(video.unrecognizedPayloadTypes + ignored).sorted()
  }
}
