public import RTPWire

/// A value behind a lock, and threads that wait until it becomes what they need.
///
/// Other modules compile this for their values. Otherwise, what is called for each packet would
/// take several times as long.
@safe @usableFromInline package final class Monitor<State>: @unchecked Sendable {
  @usableFromInline let lock = WaitableLock()
  @usableFromInline var state: State

  @inlinable package init(_ state: State) { self.state = state }

  /// Reads or changes the value and wakes waiting threads; free when none waits.
  ///
  /// Where `isOfInterest` says that nobody waits for what the value has become, nobody is woken.
  @inlinable package func update<Result>(
    wakingIf isOfInterest: (State) -> Bool = { _ in true }, _ body: (inout State) -> Result
  ) -> Result {
    lock.lock()
    let result = body(&state)
    let wakes = isOfInterest(state)
    lock.unlock()
    if wakes { lock.wakeAll() }
    return result
  }

  /// Reads or changes the value without waking anyone, for changes that nobody waits for.
  @inlinable package func quietly<Result>(_ body: (inout State) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&state)
  }

  /// Blocks the thread until `body` returns a value or the deadline passes; a value wakes the
  /// others.
  ///
  /// - Returns: what `body` returned, or `nil` after the deadline. Without a deadline, the owner of
  ///   the monitor must end the wait when it closes.
  @inlinable package func wait<Result>(
    until deadline: Instant? = nil, _ body: (inout State) -> Result?
  ) -> Result? {
    lock.lock()
    defer { lock.unlock() }
    while true {
      if let result = body(&state) {
        lock.wakeAll()
        return result
      }
      if !lock.wait(until: deadline) { return body(&state) }
    }
  }
}
