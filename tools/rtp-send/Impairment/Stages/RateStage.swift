import RTPWire

/// A link of limited rate with a queue in front of it, which drops what it has no room for.
struct RateStage: Sendable {
  /// Of IPv4 and UDP.
  static let overhead = 28

  private var freeAt = Instant(nanoseconds: .min)

  /// When a packet that comes at `now` has been sent, or `nil` when the queue is full.
  ///
  /// Others wait for it if it `takesShare`.
  mutating func departure(
    ofBytes length: Int, at now: Instant, _ limit: Impairments.RateLimit, takesShare: Bool = true
  ) -> Instant? {
    let rate = Double(limit.bitsPerSecond)
    let size = length + Self.overhead
    let beginning = max(now, freeAt)
    let waiting = Double(now.nanoseconds(to: beginning)) / 1e9 * rate / 8
    guard waiting + Double(size) <= Double(limit.queue) else { return nil }
    // A packet takes at least a nanosecond, and at the slowest rate some minutes.
    let departure = beginning.advanced(byNanoseconds: max(1, Int64(Double(size) * 8e9 / rate)))
    if takesShare { freeAt = departure }
    return departure
  }
}
