import Synchronization

/// What libnats is given as the context of its callbacks: a number, behind which an object is found
/// as long as it is registered.
///
/// libnats calls on threads of its own, and may do so a little longer than its objects exist.
final class CallbackHandle<Target: AnyObject & Sendable>: Sendable {
  private let number: Int

  init(_ target: Target) {
    number = CallbackRegistry.add(target)
  }

  deinit { CallbackRegistry.remove(number) }

  /// For libnats, which hands it back.
  var context: UnsafeMutableRawPointer? { unsafe UnsafeMutableRawPointer(bitPattern: number) }

  /// What was registered under `context`, if it still is.
  static func target(_ context: UnsafeMutableRawPointer?) -> Target? {
    CallbackRegistry.object(Int(bitPattern: context)) as? Target
  }
}

private enum CallbackRegistry {
  private struct State {
    var objects: [Int: any AnyObject & Sendable] = [:]
    var last = 0
  }

  private static let state = Mutex(State())

  static func add(_ object: any AnyObject & Sendable) -> Int {
    state.withLock { state in
      state.last += 1
      state.objects[state.last] = object
      return state.last
    }
  }

  static func remove(_ number: Int) {
    // The object may be freed here, which must not happen under the lock.
    _ = state.withLock { $0.objects.removeValue(forKey: number) }
  }

  static func object(_ number: Int) -> (any AnyObject & Sendable)? {
    state.withLock { $0.objects[number] }
  }
}
