internal import RTPWire

/// Limits the rate of trials: a token bucket on the clock of the arrivals.
struct TrialAllowance: Sendable {
  private(set) var left = Self.burst
  private var refilled: Instant?

  mutating func refill(at now: Instant) {
    guard let refilled else {
      self.refilled = now
      return
    }
    let elapsed = min(refilled.nanoseconds(to: now), Self.fullAfter)
    let tokens = Int(clamping: elapsed / Self.nanosecondsPerTrial)
    guard tokens > 0 else { return }
    left = min(left + tokens, Self.burst)
    // The time that does not fill a whole token counts towards the next one.
    self.refilled =
      elapsed == Self.fullAfter
      ? now : refilled.advanced(byNanoseconds: Int64(tokens) * Self.nanosecondsPerTrial)
  }

  /// Takes `count` trials, if so many are left beyond `reserve`; returns whether it did.
  mutating func take(_ count: Int, leaving reserve: Int = 0) -> Bool {
    guard left - count >= reserve else { return false }
    left -= count
    return true
  }

  /// 1,000 trials per second of about 5 µs each: nobody can make the trials cost more than 0.5 % of
  /// a processor.
  ///
  /// An integer, because whole trials are divided out of the time, for each packet of a search.
  static let nanosecondsPerTrial: Int64 = 1_000_000
  static let burst = 256
  private static let fullAfter = Int64(burst) * nanosecondsPerTrial
}
