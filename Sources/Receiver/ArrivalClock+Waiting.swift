import Bitstream
import Outputs
import RTPWire

/// Who waits for whom: a live stream for nobody, a recording for every consumer.
extension ArrivalClock {
  /// Whether the source waits for the decoder and the consumers of its frames.
  var waitsForDecoder: Bool { self == .recorded }

  /// What an output does when it is too slow, given the `requested` policy.
  func policy(_ requested: OutputLane.Policy) -> OutputLane.Policy {
    self == .recorded ? .block : requested
  }

  /// The clock by which outputs are paced; recordings play at `rate`.
  func playout(at rate: Rational?) -> Playout { Playout(isLive: self == .monotonic, rate: rate) }

  /// Whether arrivals are times of this machine, so that latency can be measured.
  var measuresLatency: Bool { self == .monotonic }

  /// What turns arrivals into UTC.
  var wallClock: WallClock { self == .recorded ? .recorded : .system }

  /// How long outputs may take to finish; `nil` for as long as a reader needs.
  var finishingTime: Duration? { self == .recorded ? nil : OutputLane.longestFinish }
}
