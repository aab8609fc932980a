internal import Synchronization

/// What `operation` comes to, or `nil` when that takes longer than `limit`; then it goes on alone.
func outcome<Value: Sendable>(
  within limit: Duration, of operation: @escaping @Sendable () async -> Value
) async -> Value? {
  let settlement = Settlement<Value>()
  return await withCheckedContinuation { continuation in
    settlement.begin(continuation)
    let timer = Task {
      if (try? await Task.sleep(for: limit)) != nil { settlement.settle(nil) }
    }
    Task {
      settlement.settle(await operation())
      timer.cancel()
    }
  }
}

/// A continuation that the first of two resumes.
private final class Settlement<Value: Sendable>: Sendable {
  private let continuation = Mutex<CheckedContinuation<Value?, Never>?>(nil)

  func begin(_ continuation: CheckedContinuation<Value?, Never>) {
    self.continuation.withLock { $0 = continuation }
  }

  func settle(_ value: Value?) {
    continuation.withLock { $0.take() }?.resume(returning: value)
  }
}
