import Bitstream
import Outputs
import RTPWire

/// Who waits for whom: a live stream for nobody, a recording for every consumer.
extension ArrivalClock {
  /// Whether the source waits for the decoder and the consumers of its frames.
  var waitsForDecoder: Bool { !isLive }

  /// Whether the decoder has to be as fast as the source.
  var wantsFastDecoder: Bool { !waitsForDecoder }

  /// What an output does when it is too slow, given the `requested` policy.
  func policy(_ requested: OutputLane.Policy) -> OutputLane.Policy {
    waitsForDecoder ? .block : requested
  }

  /// The clock by which outputs are paced; recordings play at `rate`.
  func playout(at rate: Rational?) -> Playout { Playout(isLive: isLive, rate: rate) }

  /// Whether latency can be measured, because arrivals are times of this machine.
  var measuresLatency: Bool { isLive }

  /// What turns arrivals into UTC.
  var wallClock: WallClock { measuresLatency ? .system : .arrivals }

  /// How long outputs may take to finish; `nil` for as long as a reader needs.
  var finishingTime: Duration? { waitsForDecoder ? nil : OutputLane.longestFinish }
}
