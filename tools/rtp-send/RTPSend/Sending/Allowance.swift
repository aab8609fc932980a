import RTPWire

/// How often something may happen: so many times in a row, and so many in a second.
struct Allowance: Sendable {
  private let most: Int
  private let perSecond: Int
  private var left: Int
  private var filled: Instant?

  init(inARow most: Int, perSecond: Int) {
    self.most = most
    self.perSecond = perSecond
    left = most
  }

  /// How many of `count` times are allowed at `now`; they have happened then.
  mutating func take(_ count: Int, at now: Instant) -> Int {
    let elapsed = filled.map { max(0, $0.nanoseconds(to: now)) } ?? 0
    let earned = Int(clamping: Double(elapsed) * Double(perSecond) / 1e9)
    if filled == nil || earned > 0 {
      left += min(earned, most - left)
      filled = now
    }
    let allowed = min(max(count, 0), left)
    left -= allowed
    return allowed
  }
}
