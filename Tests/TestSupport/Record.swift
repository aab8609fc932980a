import Synchronization

/// Things that happen elsewhere, awaited by how many there are, with a deadline.
public final class Record<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  }

  private let state = Mutex(State())

  public init() {}

  public var elements: [Element] { state.withLock { $0.elements } }

  public func append(_ element: Element) {
    let ready = state.withLock { state in
      state.elements.append(element)
      let count = state.elements.count
      let ready = state.waiters.filter { $0.count <= count }
      state.waiters.removeAll { $0.count <= count }
      return ready.map(\.continuation)
    }
    for continuation in ready { continuation.resume() }
  }

  /// The first `count` elements, as soon as there are so many.
  ///
  /// - Throws: ``TimedOut`` after `limit`.
  public func first(
    _ count: Int, within limit: Duration = .seconds(60), file: String = #fileID, line: Int = #line
  ) async throws -> [Element] {
    let deadline = Task {
      try await Task.sleep(for: limit)
      let waiters = state.withLock { state in
        defer { state.waiters.removeAll() }
        return state.waiters
      }
      for waiter in waiters {
        waiter.continuation.resume(
          throwing: TimedOut(
            description: "\(file):\(line): \(elements.count) of \(waiter.count) within \(limit)"))
      }
    }
    defer { deadline.cancel() }
    try await withCheckedThrowingContinuation { continuation in
      let isReady = state.withLock { state in
        if state.elements.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
    return Array(elements.prefix(count))
  }
}
