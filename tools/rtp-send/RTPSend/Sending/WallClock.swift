#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The time of day, which only the NTP field of sender reports needs (RFC 3550 §4).
enum WallClock {
  /// Nanoseconds since 1970.
  static func unixNanoseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0 else { return 0 }
    return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
  }
}
