import RTPWire

/// How long it takes from a request to its answer, smoothed as RFC 6298 §2 has it.
struct RoundTrip: Sendable {
  /// What is taken for the round trip before the first answer.
  static let initial: Int64 = 100_000_000
  /// The least and the most that an answer is waited for before the request is repeated: less would
  /// repeat what a timer of the sender's holds, more leaves no time for a third request.
  static let shortestTimeout: Int64 = 10_000_000
  static let longestTimeout: Int64 = 500_000_000

  /// In nanoseconds; `nil` before the first answer.
  private(set) var smoothed: Int64?
  private var variation: Int64 = 0

  /// In nanoseconds, known or supposed.
  var estimate: Int64 { smoothed ?? Self.initial }

  /// After how many nanoseconds a request is repeated.
  ///
  /// Before anything is known it is so sooner than the round trip: a request too many costs little, and
  /// the window passes meanwhile.
  var timeout: Int64 {
    guard let smoothed else { return Self.initial / 2 }
    let timeout = smoothed.addingSaturating(max(4 * variation, Self.shortestTimeout))
    return min(max(timeout, Self.shortestTimeout), Self.longestTimeout)
  }

  /// Takes in that an answer took `nanoseconds`; a minute and more is no round trip.
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
