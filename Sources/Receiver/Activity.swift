import Synchronization

/// Wakes whoever waits for something to happen; costs one load where nobody does.
final class Activity: Sendable {
  /// Nothing has happened since ``wait(atMost:)`` returned, or ever.
  private let isQuiet = Atomic(true)
  private let news = Handover<Void>(.latest)

  /// Something has happened; from any thread.
  func note() {
    guard isQuiet.load(ordering: .relaxed),
      isQuiet.exchange(false, ordering: .acquiringAndReleasing)
    else { return }
    news.offer(())
  }

  /// Returns when something has happened since it last returned, when `patience` is over, or when
  /// the task is cancelled.
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
