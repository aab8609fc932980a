internal import NIOCore
internal import RTPWire

/// Limits how often something is done for one address, so that no address exhausts a shared budget.
///
/// There is a token bucket for each recent address. Addresses can be forged, so the total over all
/// addresses needs a limit of its own.
struct AddressAllowance: Sendable {
  private struct Entry: Sendable {
    let address: SocketAddress
    var left: Int
    var refilled: Instant
  }

  private let burst: Int
  /// Nanoseconds per token; an integer, because whole tokens are divided out of the time.
  private let interval: Int64
  /// The least recently heard address comes first.
  private var entries: [Entry] = []

  /// Allows `burst` at once, and one more per `interval`.
  init(burst: Int, interval: Duration) {
    self.burst = burst
    self.interval = max(interval.wholeNanoseconds, 1)
  }

  /// Takes a token for the host of `origin`, if one is left; without an address, always succeeds.
  mutating func take(for origin: SocketAddress?, at now: Instant) -> Bool {
    guard let origin else { return true }
    var entry = Entry(address: origin, left: burst, refilled: now)
    if let index = entries.firstIndex(where: { $0.address.isSameHost(as: origin) }) {
      entry = entries.remove(at: index)
    } else if entries.count == Self.maximumAddresses {
      entries.removeFirst()
    }
    let tokens = entry.refilled.nanoseconds(to: now) / interval
    if tokens > 0 {
      entry.left = Int(clamping: min(tokens.addingSaturating(Int64(entry.left)), Int64(burst)))
      entry.refilled = now
    }
    let isAllowed = entry.left > 0
    if isAllowed { entry.left -= 1 }
    entries.append(entry)
    return isAllowed
  }

  static let maximumAddresses = 16
}
