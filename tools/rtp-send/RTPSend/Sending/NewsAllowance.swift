public import RTPWire

/// How much is said of clients: those that come and go in a loop must not fill a log.
public struct NewsAllowance: Sendable {
  /// As many as come at once where a server with many viewers has been started again.
  static let inARow = 100
  static let perSecond = 2

  private var allowance = Allowance(inARow: inARow, perSecond: perSecond)
  private var leftOut = 0

  public init() {}

  /// Whether a piece of news may be said at `now`: the number of those that were left out before
  /// it; `nil` if it is left out, too.
  public mutating func admit(at now: Instant) -> Int? {
    guard allowance.take(1, at: now) > 0 else {
      leftOut += 1
      return nil
    }
    return takeLeftOut()
  }

  /// The number of pieces that were left out since it was last told.
  public mutating func takeLeftOut() -> Int {
    defer { leftOut = 0 }
    return leftOut
  }
}
