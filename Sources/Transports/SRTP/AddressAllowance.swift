internal import NIOCore
internal import RTPWire

/// How often something may be done for packets of one address, so that none uses up what others need.
///
/// A token bucket for each of the addresses heard last. Addresses can be forged, so that what is done for
/// all of them together needs a bound of its own.
struct AddressAllowance: Sendable {
  private struct Entry: Sendable {
    let address: SocketAddress
    var left: Int
    var refilled: Instant
  }

  private let burst: Int
  /// Nanoseconds for a token.
  private let interval: Int64
  /// The one not heard for longest first.
  private var entries: [Entry] = []

  /// Allows `burst` at once, and one more with every `interval`.
  init(burst: Int, interval: Duration) {
    self.burst = burst
    self.interval = max(interval.wholeNanoseconds, 1)
  }

  /// Takes a token of the host of `origin`, if it has one; where there are no addresses, all may.
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
