import Transports

/// Something that is tried again and again, and fails.
///
/// A reason is told once while it stays the same, as that of a connection is, and again after an
/// hour: who reads the end of a log of months sees it too.
struct RepeatedFailure: Sendable {
  /// Without how many packets came, which is another number each time.
  private var reason: String?
  private var toldAt: ContinuousClock.Instant?
  private var count: UInt64 = 0

  /// How long the same reason is not told again.
  static let silence = Duration.seconds(3600)

  /// Notes that it has failed because of `reason`.
  ///
  /// - Returns: how often it has, where that is to be told; `nil` where it has been.
  mutating func note(_ reason: String, at now: ContinuousClock.Instant) -> UInt64? {
    let essence = reason.replacing(#/\d+ (packet|datagram)s?/#) { $0.1 }
    if essence != self.reason {
      forget()
      self.reason = essence
    }
    count += 1
    if let toldAt, toldAt.duration(to: now) < Self.silence { return nil }
    toldAt = now
    return count
  }

  /// The same, as the words that tell it.
  mutating func words(on reason: String, at now: ContinuousClock.Instant) -> String? {
    note(reason, at: now).map { count in
      "\(reason); it is tried again" + (count > 1 ? " (\(count.times) so far)" : "")
    }
  }

  /// Whatever fails next is news.
  mutating func forget() { self = RepeatedFailure() }
}
