import RTPWire

/// When a source is asked for a key picture: at once, but no more often than once a second, however
/// often and by whomever it is wanted.
///
/// Key pictures are large, and whoever watches gets all of them. A request that comes too soon is
/// made up for, because a receiver repeats a command under the same number (RFC 5104 §4.3.1.2).
struct KeyPictureRequests {
  static let interval: Int64 = 1_000_000_000

  private var isWanted = false
  private var last: Instant?

  mutating func want() { isWanted = true }

  /// A key picture has come.
  mutating func satisfy() { isWanted = false }

  /// Whether the source is to be asked now.
  mutating func take(at now: Instant) -> Bool {
    guard isWanted, last.map({ $0.nanoseconds(to: now) >= Self.interval }) ?? true else {
      return false
    }
    (isWanted, last) = (false, now)
    return true
  }
}
