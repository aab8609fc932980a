import RTPWire

/// The time from a request to its answer, smoothed as in RFC 6298 §2.
struct RoundTrip: Sendable {
  /// The assumed round trip before the first answer.
  static let initial: Duration = .milliseconds(100)
  /// The shortest and longest wait before a request is repeated.
  ///
  /// Less would repeat what a sender's timer holds back; more leaves no time for a third request.
  static let shortestTimeout: Duration = .milliseconds(10)
  static let longestTimeout: Duration = .milliseconds(500)

  /// `nil` before the first answer.
  private(set) var smoothed: Duration?
  private var variation: Duration = .zero

  /// Known or supposed.
  var estimate: Duration { smoothed ?? Self.initial }

  /// How long after a request it is repeated.
  ///
  /// Before the first answer it is less than the assumed round trip: an extra request costs little,
  /// and the window is short.
  var timeout: Duration {
    guard let smoothed else { return Self.initial / 2 }
    let timeout = smoothed + max(variation * 4, Self.shortestTimeout)
    return min(max(timeout, Self.shortestTimeout), Self.longestTimeout)
  }

  /// Adds a measurement; a minute or more counts as a minute.
  mutating func note(_ measured: Duration) {
    let sample = min(max(measured, .zero), .seconds(60))
    guard let smoothed else {
      self.smoothed = sample
      variation = sample / 2
      return
    }
    let difference = max(smoothed - sample, sample - smoothed)
    variation = (variation * 3 + difference) / 4
    self.smoothed = (smoothed * 7 + sample) / 8
  }
}
