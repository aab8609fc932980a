import Glibc
package import RTPWire
import Synchronization

/// When to give up waiting for a pipe's reader; it may be set during the wait.
package final class WriteDeadline: Sendable {
  /// How a wait for a descriptor ended.
  enum Outcome: Sendable, Hashable {
    /// The descriptor is ready, or has an error that its next use reports.
    case ready
    case tooLate
    case failed(errno: Int32)
  }

  private let time: Mutex<Instant?>
  private let call = Mutex<(@Sendable (Instant) -> Void)?>(nil)
  /// `nil` if the time never changes.
  private let waker: Result<Waker, WriteFailure>?

  /// Waits without limit until ``set(_:)`` gives a time.
  package init() {
    time = Mutex(nil)
    waker = Result { () throws(WriteFailure) in try Waker() }
  }

  /// Gives up after `duration`.
  package init(in duration: Duration) {
    time = Mutex(Instant.now.advanced(by: duration))
    waker = nil
  }

  /// `nil` without a time.
  package var instant: Instant? { time.withLock { $0 } }

  package var isPast: Bool { instant.map { Instant.now >= $0 } ?? false }

  /// Calls `body` with each time that is set, and at once if there is one, for waits that it does
  /// not end by itself.
  package func whenSet(_ body: @escaping @Sendable (Instant) -> Void) {
    call.withLock { $0 = body }
    if let instant { body(instant) }
  }

  /// Sets the time, unless an earlier one is set.
  package func set(_ instant: Instant) {
    let earliest = time.withLock { time in
      time = min(time ?? instant, instant)
      return time ?? instant
    }
    call.withLock(\.self)?(earliest)
    if case .success(let waker) = waker { waker.wake() }
  }

  /// Blocks the thread until `moment`, or until there is a time to give up; one thread at a time.
  ///
  /// - Returns: whether there is no such time.
  package func rest(until moment: Instant) -> Bool {
    let waker = try? waker?.get()
    while instant == nil {
      let left = Instant.now.nanoseconds(to: moment)
      guard left > 0 else { return true }
      var request = pollfd(fd: waker?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&request, 1, Int32(clamping: left / 1_000_000)) > 0 { waker?.reset() }
      // The last part of a millisecond, which poll(2) cannot wait.
      let rest = Instant.now.nanoseconds(to: moment)
      if (1..<1_000_000).contains(rest) { usleep(UInt32(rest / 1000 + 1)) }
    }
    return false
  }

  /// Blocks the thread until `descriptor` is ready for `events` of poll(2), or until `moment` if
  /// that comes before the deadline; one thread at a time.
  ///
  /// What is ready is ready, however late it is: on a busy machine the time may be over before this
  /// begins.
  func wait(for descriptor: Int32, _ events: Int32, until moment: Instant? = nil) -> Outcome {
    if case .failure(let failure) = waker { return .failed(errno: failure.number) }
    let waker = try? waker?.get()
    while true {
      let left = [instant, moment].compactMap(\.self).min().map { Instant.now.nanoseconds(to: $0) }
      // Rounded up, so that the time has passed when poll(2) returns.
      let milliseconds = left.map { $0 > 0 ? Int32(clamping: $0 / 1_000_000 + 1) : 0 } ?? -1
      // poll(2) skips negative descriptors.
      var requests = [
        pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0),
        pollfd(fd: waker?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let count = unsafe poll(&requests, 2, milliseconds)
      if count < 0, errno != EINTR { return .failed(errno: errno) }
      if count > 0, requests[0].revents != 0 { return .ready }
      if milliseconds == 0 { return .tooLate }
      if count > 0 { waker?.reset() }
    }
  }
}
