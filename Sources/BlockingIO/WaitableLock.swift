import Glibc
public import RTPWire

/// A lock, and threads that wait until something has changed behind it.
///
/// The standard library has the lock but nothing to wait on, so this is a POSIX mutex with a
/// condition variable on the monotonic clock.
@safe @usableFromInline package final class WaitableLock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  @usableFromInline package init() {
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

  @usableFromInline package func lock() { unsafe pthread_mutex_lock(mutex) }

  @usableFromInline package func unlock() { unsafe pthread_mutex_unlock(mutex) }

  /// Wakes all waiting threads; free when none waits.
  @usableFromInline package func wakeAll() { unsafe pthread_cond_broadcast(condition) }

  /// Unlocks, waits to be woken, and locks again; may return for no reason.
  ///
  /// - Returns: whether `deadline` is not over.
  @usableFromInline package func wait(until deadline: Instant?) -> Bool {
    guard let deadline else {
      unsafe pthread_cond_wait(condition, mutex)
      return true
    }
    var time = timespec(
      tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
      tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
    return unsafe pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
  }
}
