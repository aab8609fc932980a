import NIOCore
import RTPWire

/// One timer of an event loop, which is set anew and anew; used on that loop alone.
struct Alarm {
  private var set: (at: Instant, task: Scheduled<Void>)?

  /// Has `ring` called on `eventLoop` when `due` comes or before; it calls ``rang()`` first of all.
  ///
  /// An alarm that is set for an earlier time stays: to move it would cost a system call a packet.
  mutating func set(
    for due: Instant?, on eventLoop: any EventLoop, ring: @escaping @Sendable () -> Void
  ) {
    guard let due, set.map({ due < $0.at }) ?? true else { return }
    set?.task.cancel()
    let delay = TimeAmount.nanoseconds(max(0, Instant.now.nanoseconds(to: due)))
    set = (due, eventLoop.scheduleTask(in: delay, ring))
  }

  mutating func rang() { set = nil }

  mutating func cancel() { set?.task.cancel() }
}
