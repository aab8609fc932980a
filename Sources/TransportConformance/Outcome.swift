internal import Synchronization

/// The result of `operation`, or `nil` after `limit`; it then continues unobserved.
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

/// A continuation that is resumed by the first of two events.
private final class Settlement<Value: Sendable>: Sendable {
  private let continuation = Mutex<CheckedContinuation<Value?, Never>?>(nil)

  func begin(_ continuation: CheckedContinuation<Value?, Never>) {
    self.continuation.withLock { $0 = continuation }
  }

  func settle(_ value: Value?) {
    continuation.withLock { $0.take() }?.resume(returning: value)
  }
}
