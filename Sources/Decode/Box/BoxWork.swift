import CBox
import RTPWire

/// What a decoder's process does while it does not answer.
///
/// One that computes, or sleeps, has its time. One that waits for a processor or a disk, which
/// others have, could not answer.
struct BoxWork {
  /// Its processor time in nanoseconds when it was last looked at.
  private var processorTime: Int64?

  /// How much of `wait`, which has just passed, the process of that number had for itself.
  mutating func share(of wait: Duration, in process: Int32) -> Duration {
    let now = box_processor_time(process)
    let former = processorTime
    processorTime = now < 0 ? nil : now
    guard now >= 0, let former, Self.isHeldUp(process) else { return wait }
    return min(wait, .nanoseconds(now - former))
  }

  /// Whether that process waits for a processor or a disk, or computes; not if nothing tells.
  static func isHeldUp(_ process: Int32) -> Bool { box_is_held_up(process) == 1 }
}
