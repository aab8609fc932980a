import Glibc
package import RTPWire

/// A value behind a lock, and threads that wait until it becomes what they need.
///
/// The standard library has the lock but nothing to wait on, so this is a POSIX mutex with a
/// condition variable on the monotonic clock.
@safe package final class Monitor<State>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  package init(_ state: State) {
    self.state = state
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe condition = .allocate(capacity: 1)
    unsafe condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Reads or changes the value and wakes waiting threads; free when none waits.
  ///
  /// Where `isOfInterest` says that nobody waits for what the value has become, nobody is woken.
  package func update<Result>(
    wakingIf isOfInterest: (State) -> Bool = { _ in true }, _ body: (inout State) -> Result
  ) -> Result {
    unsafe pthread_mutex_lock(mutex)
    let result = body(&state)
    let wakes = isOfInterest(state)
    unsafe pthread_mutex_unlock(mutex)
    if wakes { unsafe pthread_cond_broadcast(condition) }
    return result
  }

  /// Reads or changes the value without waking anyone, for changes that nobody waits for.
  package func quietly<Result>(_ body: (inout State) -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// Blocks the thread until `body` returns a value or the deadline passes; a value wakes the
  /// others.
  ///
  /// - Returns: what `body` returned, or `nil` after the deadline. Without a deadline, the owner of
  ///   the monitor must end the wait when it closes.
  package func wait<Result>(until deadline: Instant? = nil, _ body: (inout State) -> Result?)
    -> Result?
  {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&state) {
        unsafe pthread_cond_broadcast(condition)
        return result
      }
      guard let deadline else {
        unsafe pthread_cond_wait(condition, mutex)
        continue
      }
      var time = timespec(
        tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
        tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
      if unsafe pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT {
        return body(&state)
      }
    }
  }
}

extension Instant {
  /// The monotonic clock; read only by threads and timers, and only for deadlines.
  package static var now: Instant {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
