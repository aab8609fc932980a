import NIOCore
import Synchronization

/// Wakes the task that waits for activity; costs one load when no task waits.
final class Activity: Sendable {
  /// Nothing has happened since ``wait(notBefore:atMost:on:)`` returned, or ever.
  private let isQuiet = Atomic(true)
  private let news = Handover<Void>(.latest)
  private let urgentNews = Handover<Void>(.latest)

  /// Notes something that is to be known at once, from any thread.
  func alert() {
    note()
    urgentNews.offer(())
  }

  /// Notes activity, from any thread.
  func note() {
    guard isQuiet.load(ordering: .relaxed),
      isQuiet.exchange(false, ordering: .acquiringAndReleasing)
    else { return }
    news.offer(())
  }

  /// Returns when something has happened since it last returned, but not before `rest` is over
  /// unless it is urgent; when `patience` is over; or when the task is cancelled.
  ///
  /// `eventLoop` lends its timers.
  func wait(
    notBefore rest: Duration, atMost patience: Duration, on eventLoop: any EventLoop
  ) async {
    if rest > .zero { await Self.next(of: urgentNews, within: rest, on: eventLoop) }
    // Where much happens, a second timer is not worth its wake-ups.
    if patience > rest, isQuiet.load(ordering: .acquiring) {
      await Self.next(of: news, within: patience - rest, on: eventLoop)
    }
    // Whoever waited looks now, so that nothing is news to the next wait.
    news.clear()
    urgentNews.clear()
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
