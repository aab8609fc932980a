public import Decode
public import Defragment
public import RTPWire
import Synchronization

/// The ``PlayoutClock`` that all outputs of a run share, so that sound and pictures stay in step.
public final class Playout: Sendable {
  private let clock: Mutex<PlayoutClock>

  /// Makes that of a live source, or of a recording.
  public init(isLive: Bool) { clock = Mutex(PlayoutClock(isLive: isLive)) }

  public var statistics: PlayoutClock.Statistics { clock.withLock(\.statistics) }

  /// Notes that `frame` is there.
  public func note(_ frame: RawFrame, at now: Instant) {
    note(OutputItem.frame(frame).playoutTime, arrival: frame.lastArrival, at: now)
  }

  /// Notes that `unit` is there.
  public func note(_ unit: SoundUnit, at now: Instant) {
    note(OutputItem.sound(unit).playoutTime, arrival: unit.lastArrival, at: now)
  }

  private func note(_ media: Int64?, arrival: Instant, at now: Instant) {
    guard let media else { return }
    clock.withLock { $0.note(media, arrival: arrival, at: now) }
  }

  /// When what belongs to `media` is to leave; `nil` before anything was noted.
  func instant(of media: Int64) -> Instant? { clock.withLock { $0.instant(of: media) } }

  /// Notes that what belongs to `media` leaves.
  func left(_ media: Int64, at now: Instant) { clock.withLock { $0.left(media, at: now) } }
}

extension OutputItem {
  /// When it is shown or heard, in nanoseconds on the timeline of the pictures; `nil` where it has
  /// no time of its own, as sound before the first picture.
  var playoutTime: Int64? {
    switch self {
    case .frame(let frame): frame.time.nanoseconds
    case .sound(let unit): unit.alignedTime?.nanoseconds
    case .unit, .report, .interruption: nil
    }
  }
}
