// Two threads count: behind a Mutex, or, with an argument, beside it.
//
// Alone, ThreadSanitizer calls both a race. With swift-mutex.c it is silent about the first, and
// still finds the second.

import Glibc
import Synchronization

final class Counter: @unchecked Sendable {
  final class Value { var count = 0 }

  static let shared = Counter()

  private let protected = Mutex(Value())
  private let other = Value()
  private let isBeside = CommandLine.argc > 1

  func count() {
    protected.withLock { $0.count += 1 }
    if isBeside { other.count += 1 }
  }
}

@main
enum TwoThreads {
  static func main() {
    var threads = [pthread_t(), pthread_t()]
    for index in threads.indices { pthread_create(&threads[index], nil, count, nil) }
    for thread in threads { pthread_join(thread, nil) }
  }
}

private func count(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  for _ in 0..<100_000 { Counter.shared.count() }
  return nil
}
