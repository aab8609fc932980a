internal import NIOCore
internal import RTPWire

/// Limits how often keys are requested: forged packets must not flood the key supplier, and
/// requests for a sender known to be genuine must not wait behind them.
struct SRTPInquiryAllowance: Sendable {
  private var ofAddress = AddressAllowance(burst: 4, interval: .seconds(1))
  private var left = Self.burst
  private var refilled: Instant?

  /// Takes one request, if it is allowed now; `isKnown` says that authentic media comes from
  /// `origin`.
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

  /// Requests at once, and how many of them are reserved for a known sender.
  static let burst = 16
  static let reserve = 4
  /// Nanoseconds until another request is allowed; an integer, because whole requests are divided
  /// out of the time, for each packet of a flood.
  private static let interval: Int64 = 250_000_000
}
