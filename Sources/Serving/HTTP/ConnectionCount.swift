import Synchronization

/// How many connections there are; more than a page needs are closed at once.
final class ConnectionCount: Sendable {
  /// Many browsers: each has six at most, beside its WebSocket.
  ///
  /// With those of two hundred cameras, all stay below the 1,024 descriptors that a process usually
  /// has.
  static let most = 128

  private let count = Atomic(0)

  /// Counts one more; `false` if there are enough.
  func admit() -> Bool {
    let former = count.add(1, ordering: .relaxed).oldValue
    if former < Self.most { return true }
    leave()
    return false
  }

  /// Counts one less.
  func leave() { count.subtract(1, ordering: .relaxed) }
}
