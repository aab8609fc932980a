import Synchronization

/// Wakes the task that waits for activity; costs one load when no task waits.
final class Activity: Sendable {
  /// Whether nothing has happened since ``wait(atMost:)`` last returned.
  private let isQuiet = Atomic(true)
  private let news = Handover<Void>(.latest)

  /// Notes activity, from any thread.
  func note() {
    guard isQuiet.load(ordering: .relaxed),
      isQuiet.exchange(false, ordering: .acquiringAndReleasing)
    else { return }
    news.offer(())
  }

  /// Returns once there was activity since the last return, when `patience` is over, or when the
  /// task is cancelled.
  func wait(atMost patience: Duration) async {
    let timer = Task { [news] in
      try await Task.sleep(for: patience)
      news.offer(())
    }
    await withTaskCancellationHandler {
      _ = await news.next()
    } onCancel: {
      news.offer(())
    }
    timer.cancel()
    isQuiet.store(true, ordering: .releasing)
  }
}
