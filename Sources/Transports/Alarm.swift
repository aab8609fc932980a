import BlockingIO
package import NIOCore
package import RTPWire

/// One timer of an event loop, which is set anew and anew; used on that loop alone.
package struct Alarm {
  private var set: (due: Instant, task: Scheduled<Void>)?

  package init() {}

  /// Has `ring` called on `eventLoop` when `due` comes or before; it calls ``rang()`` first of all.
  ///
  /// An alarm that is set for an earlier time stays: to move it would cost a system call a packet.
  package mutating func set(
    for due: Instant, on eventLoop: any EventLoop, ring: @escaping () -> Void
  ) {
    guard set.map({ due < $0.due }) ?? true else { return }
    set?.task.cancel()
    let delay = TimeAmount.nanoseconds(max(0, Instant.now.nanoseconds(to: due)))
    set = (due, eventLoop.assumeIsolated().scheduleTask(in: delay, ring))
  }

  package mutating func rang() { set = nil }

  package mutating func cancel() {
    set?.task.cancel()
    set = nil
  }
}
