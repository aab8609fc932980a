import Outputs
import Reception
import Transports

/// Who waits for whom: a live stream for nobody, a recording for everybody.
enum Pace: Sendable, Hashable {
  case live
  case recorded

  init(of clock: ArrivalClock) {
    self = clock == .recorded ? .recorded : .live
  }

  /// What the time of the packets is.
  var time: Reception.Carrier.Time { self == .recorded ? .recorded : .live }

  /// Whether the source waits for the decoder, whoever takes its frames.
  var waitsForDecoder: Bool { self == .recorded }

  /// What an output does when it is too slow, if `requested` is asked for.
  func policy(_ requested: OutputLane.Policy) -> OutputLane.Policy {
    self == .recorded ? .block : requested
  }

  /// Whether arrivals are times of this machine, so that the way from there to the frame can be
  /// measured.
  var measuresLatency: Bool { self == .live }

  /// How long outputs may take to finish what they have begun; `nil` for as long as a reader likes.
  var finishingTime: Duration? { self == .recorded ? nil : OutputLane.longestFinish }
}
