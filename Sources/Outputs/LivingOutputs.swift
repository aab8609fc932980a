import Synchronization

/// Which outputs of a run go on; without any, the run ends.
///
/// One whose first file cannot be opened may wait for it as long as another one goes on: its disk
/// may come late. It keeps no run alive by itself until it is open.
package final class LivingOutputs: Sendable {
  /// The place of one output among them.
  package struct Place: Sendable {
    let number: Int
    let outputs: LivingOutputs

    /// Notes that the output has ended.
    package func leave() { outputs.remove(number) }

    /// Whether the output, which cannot be opened, may wait.
    func wait() -> Bool { outputs.suspend(number) }

    /// Notes that the output is open after all.
    func goOn() { outputs.insert(number) }
  }

  private struct State {
    var living: Set<Int>
    var hasEnded = false
  }

  private let state: Mutex<State>
  private let onEnd: @Sendable () -> Void

  /// Begins with `count` outputs; `onEnd` is called once, by the last one.
  package init(count: Int, onEnd: @escaping @Sendable () -> Void) {
    state = Mutex(State(living: Set(0..<count)))
    self.onEnd = onEnd
  }

  /// That of the output with this number, from 0.
  package func place(_ number: Int) -> Place { Place(number: number, outputs: self) }

  private func suspend(_ number: Int) -> Bool {
    state.withLock { state in
      state.living.remove(number)
      return !state.living.isEmpty
    }
  }

  private func insert(_ number: Int) { state.withLock { _ = $0.living.insert(number) } }

  private func remove(_ number: Int) {
    let isLast = state.withLock { state in
      state.living.remove(number)
      defer { if state.living.isEmpty { state.hasEnded = true } }
      return state.living.isEmpty && !state.hasEnded
    }
    if isLast { onEnd() }
  }
}
