import RTPWire

/// Whether what comes out may go on to whoever takes it, and whether the far end waits meanwhile.
struct Gate: Sendable {
  private enum State: Sendable, Hashable {
    case open
    /// Whoever takes what comes out has enough to do, and the far end waits.
    case closed(since: Instant)
    /// There is room again, and what has come meanwhile goes on before the far end does.
    case draining
    /// What was waited for took too long: it loses what comes, until it has room again.
    case givenUp
    case givenUpForGood
  }

  /// How long the far end is held at most without anything going on: less than what makes either
  /// side take the other for dead.
  static let patience: Duration = .seconds(2)

  private var state = State.open

  var isOpen: Bool {
    if case .closed = state { return false }
    return true
  }

  /// When ``giveUp()`` is due.
  var deadline: Instant? {
    guard case .closed(let since) = state else { return nil }
    return since.advanced(by: Self.patience)
  }

  /// Somebody is crowded; true when the far end is to be held from now on.
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

  /// Nobody is crowded any more.
  mutating func open() {
    switch state {
    case .closed: state = .draining
    case .givenUp: state = .open
    case .open, .draining, .givenUpForGood: break
    }
  }

  /// All that waited has gone on; true when the far end may too.
  mutating func settle() -> Bool {
    guard state == .draining else { return false }
    state = .open
    return true
  }

  /// Ends being closed because that has lasted too long, or too much waits; false when it was not.
  mutating func giveUp() -> Bool {
    guard case .closed = state else { return false }
    state = .givenUp
    return true
  }

  mutating func giveUpForGood() { state = .givenUpForGood }
}
