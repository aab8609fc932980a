public import Bitstream
public import Decode
public import Defragment
public import RTPWire
import Synchronization

/// The ``PlayoutClock`` that all outputs of a run share, so that sound and pictures stay in step.
public final class Playout: Sendable {
  private let clock: Mutex<PlayoutClock>

  /// Makes that of a live source, or of a recording that plays at `rate`.
  public init(isLive: Bool, rate: Rational? = nil) {
    clock = Mutex(PlayoutClock(isLive: isLive, rate: rate))
  }

  public var statistics: PlayoutClock.Statistics { clock.withLock(\.statistics) }

  /// Notes that `frame` is there.
  ///
  /// - Returns: what makes an output let it leave at its time.
  public func note(_ frame: RawFrame, at now: Instant) -> PlayoutClock.Ticket {
    clock.withLock { $0.note(frame.time.nanoseconds, arrival: frame.lastArrival, at: now) }
  }

  /// Notes that `unit` is there.
  ///
  /// - Returns: what makes an output let it leave at its time; `nil` where it has none that is the
  ///   pictures' too, as before the first of them.
  public func note(_ unit: SoundUnit, at now: Instant) -> PlayoutClock.Ticket? {
    unit.alignedTime.map { time in
      clock.withLock { $0.note(time.nanoseconds, arrival: unit.lastArrival, at: now) }
    }
  }

  /// When what was noted is to leave.
  func instant(of ticket: PlayoutClock.Ticket) -> Instant {
    clock.withLock { $0.instant(of: ticket) }
  }

  /// Notes that it leaves.
  func left(_ ticket: PlayoutClock.Ticket, at now: Instant) {
    clock.withLock { $0.left(ticket, at: now) }
  }
}
