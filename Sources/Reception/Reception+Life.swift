import NIOCore
import RTPWire

/// What shows that the far end is alive.
extension Reception {
  /// Only packets of the stream count as life, not everything that reaches the port; sound does
  /// where there is nothing else.
  ///
  /// The clock may be ahead of the `arrival`, where this side has been busy.
  mutating func noteLife(at now: Instant, arrival: Instant) {
    let isVideo = video.delivered != notedDeliveries
    let isSound = livesBySound && soundDelivered != notedSound
    notedDeliveries = video.delivered
    notedSound = soundDelivered
    guard isVideo || isSound else { return }
    noteGap(upTo: arrival)
    lastArrival = arrival
    clock.noteMedia(at: now)
    lastMedia = now
    if firstMedia == nil {
      firstMedia = now
      actions.append(.mediaBegan(at: now))
    }
    gatherIfSettled()
  }

  /// Notes what is missing between two senders; a recording has the times of its packets for that.
  private mutating func noteGap(upTo arrival: Instant) {
    let changes = video.sourceChanges
    guard changes != notedChanges else { return }
    notedChanges = changes
    guard carrier.timePasses, let lastArrival,
      lastArrival.advanced(by: Self.leastGap) <= arrival
    else { return }
    actions.append(.senderCame(at: arrival, after: lastArrival))
  }

  /// A sender that only changes its SSRC pauses for less.
  private static let leastGap: Duration = .seconds(1)
}
