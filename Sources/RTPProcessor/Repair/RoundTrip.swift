import RTPWire

/// The time from a request to its answer, smoothed as in RFC 6298 §2.
struct RoundTrip: Sendable {
  /// The assumed round trip before the first answer.
  static let initial: Int64 = 100_000_000
  /// The shortest and longest wait before a request is repeated.
  ///
  /// Less would repeat what a sender's timer holds back; more leaves no time for a third request.
  static let shortestTimeout: Int64 = 10_000_000
  static let longestTimeout: Int64 = 500_000_000

  /// In nanoseconds; `nil` before the first answer.
  private(set) var smoothed: Int64?
  private var variation: Int64 = 0

  /// In nanoseconds, known or supposed.
  var estimate: Int64 { smoothed ?? Self.initial }

  /// After how many nanoseconds a request is repeated.
  ///
  /// Before the first answer it is less than the assumed round trip: an extra request costs little,
  /// and the window is short.
  var timeout: Int64 {
    guard let smoothed else { return Self.initial / 2 }
    let timeout = smoothed.addingSaturating(max(4 * variation, Self.shortestTimeout))
    return min(max(timeout, Self.shortestTimeout), Self.longestTimeout)
  }

  /// Adds a measurement in nanoseconds; a minute or more is ignored.
  mutating func note(_ nanoseconds: Int64) {
    let sample = min(max(nanoseconds, 0), 60_000_000_000)
    guard let smoothed else {
      self.smoothed = sample
      variation = sample / 2
      return
    }
    variation = (3 * variation + abs(smoothed - sample)) / 4
    self.smoothed = (7 * smoothed + sample) / 8
  }
}
