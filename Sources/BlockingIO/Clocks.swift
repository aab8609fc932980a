import Glibc
package import RTPWire

extension Instant {
  /// What the monotonic clock says, which NIO's deadlines and all arrivals count.
  ///
  /// Transports, threads and timers read it; the core gets the time as a parameter.
  package static var now: Instant { Instant(nanoseconds: reading(of: CLOCK_MONOTONIC)) }
}

/// The time of day.
package enum UTC {
  /// Nanoseconds since 1970.
  package static var now: UInt64 { UInt64(clamping: reading(of: CLOCK_REALTIME)) }

  /// How far it is ahead of the monotonic clock, in nanoseconds; that changes whenever somebody
  /// sets it.
  package static var lead: Int64 {
    reading(of: CLOCK_REALTIME).subtractingSaturating(Instant.now.nanoseconds)
  }
}

/// What `clock` says, in nanoseconds; Linux has both, and neither fails.
private func reading(of clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
