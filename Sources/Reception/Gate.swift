import RTPWire

/// Whether output may go on to its consumer, and whether the far end is held meanwhile.
struct Gate: Sendable {
  private enum State: Sendable, Hashable {
    case open
    /// The consumer is busy, and the far end is held.
    case closed(since: Instant)
    /// There is room again; what has accumulated leaves before the far end continues.
    case draining
    /// Holding timed out; data may be lost from here on, until there is room again.
    case givenUp
    case givenUpForGood
  }

  /// How long the far end is held without progress: short enough that neither side takes the other
  /// for dead.
  static let patience: Duration = .seconds(2)

  private var state = State.open

  var isOpen: Bool {
    if case .closed = state { return false }
    return true
  }

  /// Whether there is room again, and the far end still held.
  var isDraining: Bool { state == .draining }

  /// When ``giveUp()`` is due.
  var deadline: Instant? {
    guard case .closed(let since) = state else { return nil }
    return since.advanced(by: Self.patience)
  }

  /// The consumer is busy; returns `true` when the far end is to be held from now on.
  mutating func close(at now: Instant) -> Bool {
    switch state {
    case .open:
      state = .closed(since: now)
      return true
    case .draining:
      state = .closed(since: now)
      return false
    case .closed, .givenUp, .givenUpForGood: return false
    }
  }

  /// The consumer has room again.
  mutating func open() {
    switch state {
    case .closed: state = .draining
    case .givenUp: state = .open
    case .open, .draining, .givenUpForGood: break
    }
  }

  /// Everything that waited has gone on; returns `true` when the far end may continue too.
  mutating func settle() -> Bool {
    guard state == .draining else { return false }
    state = .open
    return true
  }

  /// Stops holding after too long, or with too much waiting; `false` if the gate was not closed.
  mutating func giveUp() -> Bool {
    guard case .closed = state else { return false }
    state = .givenUp
    return true
  }

  mutating func giveUpForGood() { state = .givenUpForGood }
}
