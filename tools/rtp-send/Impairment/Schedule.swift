import RTPWire

/// A plan on a clock: what holds now.
struct Schedule: Sendable {
  private let plan: Plan
  private var start: Instant?
  private var current: Impairments
  /// The times since the start for which `current` is right.
  private var span: Range<Int64> = 0..<0

  init(_ plan: Plan) {
    self.plan = plan
    current = plan.base
  }

  /// Starts the clock, unless it runs.
  mutating func begin(at now: Instant) {
    if start == nil { start = now }
  }

  /// Nanoseconds since the start, at least 0.
  func elapsed(at now: Instant) -> Int64 { max(0, start?.nanoseconds(to: now) ?? 0) }

  mutating func impairments(at now: Instant) -> Impairments {
    let elapsed = elapsed(at: now)
    if !span.contains(elapsed) { (current, span) = plan.impairments(at: elapsed) }
    return current
  }
}
