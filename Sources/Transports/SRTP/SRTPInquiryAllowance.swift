internal import NIOCore
internal import RTPWire

/// How often keys may be asked for: whoever is asked must not be flooded by forged packets, and those of
/// the sender that is known to be genuine must not wait behind them.
struct SRTPInquiryAllowance: Sendable {
  private var ofAddress = AddressAllowance(burst: 4, interval: .seconds(1))
  private var left = Self.burst
  private var refilled: Instant?

  /// Takes one inquiry, if it may be made now; `isKnown` says that authentic media comes from there.
  mutating func take(for origin: SocketAddress?, isKnown: Bool, at now: Instant) -> Bool {
    let tokens = (refilled ?? now).nanoseconds(to: now) / Self.interval
    if tokens > 0 { left = Int(clamping: min(Int64(left) + tokens, Int64(Self.burst))) }
    if tokens > 0 || refilled == nil { refilled = now }
    guard left > (isKnown ? 0 : Self.reserve), ofAddress.take(for: origin, at: now) else {
      return false
    }
    left -= 1
    return true
  }

  /// Inquiries at once, of which so many are kept for the sender that is known.
  static let burst = 16
  static let reserve = 4
  /// Nanoseconds for another one.
  private static let interval: Int64 = 250_000_000
}
