import NIOCore
import Synchronization

/// Wakes the task that waits for activity; costs one load when no task waits.
final class Activity: Sendable {
  /// Nothing has happened since ``wait(notBefore:atMost:on:)`` returned, or ever.
  private let isQuiet = Atomic(true)
  private let news = Handover<Void>(.latest)

  /// Notes activity, from any thread.
  func note() {
    guard isQuiet.load(ordering: .relaxed),
      isQuiet.exchange(false, ordering: .acquiringAndReleasing)
    else { return }
    news.offer(())
  }

  /// Returns when something has happened since it last returned, but not before `rest` is over;
  /// when `patience` is over; or when the task is cancelled.
  ///
  /// `eventLoop` lends its timers.
  func wait(
    notBefore rest: Duration, atMost patience: Duration, on eventLoop: any EventLoop
  ) async {
    if rest > .zero { await Self.next(of: Handover(.latest), within: rest, on: eventLoop) }
    if patience > rest { await Self.next(of: news, within: patience - rest, on: eventLoop) }
    isQuiet.store(true, ordering: .releasing)
  }

  private static func next(
    of handover: Handover<Void>, within patience: Duration, on eventLoop: any EventLoop
  ) async {
    let timer = eventLoop.scheduleTask(in: TimeAmount(patience)) { handover.offer(()) }
    await withTaskCancellationHandler {
      _ = await handover.next()
    } onCancel: {
      handover.offer(())
    }
    timer.cancel()
  }
}
