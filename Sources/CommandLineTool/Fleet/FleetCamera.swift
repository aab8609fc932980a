import ArgumentParser
import RTPWire
import Synchronization

/// A camera of a fleet: its runs, one after another, until it is stopped or has ended by itself.
final class FleetCamera: Sendable {
  let plan: FleetPlan.Camera
  private let state = Mutex(State())

  private struct State: Sendable {
    var session: Session?
    var pause: Task<Void, Never>?
    var isStopped = false
  }

  /// How long after a run that failed the next one begins: at first, and at most.
  private static let shortestPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(30)

  init(_ plan: FleetPlan.Camera) { self.plan = plan }

  /// Whether it is connected.
  var isUp: Bool {
    get async { await state.withLock(\.session)?.isConnected ?? false }
  }

  /// Runs until it has ended, and returns how.
  func run() async -> ExitStatus {
    await StandardError.$speaker.withValue(plan.name) {
      await CommandLineSecrets.$ofCamera.withValue(plan.secrets) { await runs() }
    }
  }

  private func runs() async -> ExitStatus {
    var pause = Self.shortestPause
    while true {
      let start = ContinuousClock.now
      let status = await receive()
      state.withLock { $0.session = nil }
      // Nothing changes what is wrong with the options.
      if status == .done || status == .usage || state.withLock(\.isStopped) { return status }
      if start.duration(to: .now) > Self.longestPause { pause = Self.shortestPause }
      guard await rest(for: pause * Double.random(in: 0.75...1.25)) else { return .done }
      pause = min(pause * 2, Self.longestPause)
    }
  }

  private func receive() async -> ExitStatus {
    do {
      return try await plan.command.receive { session in
        let isStopped = state.withLock { state in
          state.session = session
          return state.isStopped
        }
        if isStopped { session.stop() }
        return nil
      }
    } catch {
      StandardError.say(.error(RTPRecv.message(for: error)))
      return .usage
    }
  }

  /// Waits; `false` if it was stopped.
  private func rest(for time: Duration) async -> Bool {
    let sleep = Task { _ = try? await Task.sleep(for: time) }
    let isStopped = state.withLock { state in
      state.pause = sleep
      return state.isStopped
    }
    if isStopped { sleep.cancel() }
    await sleep.value
    return !state.withLock(\.isStopped)
  }

  /// Ends its run, and lets no other begin; from any thread.
  func stop() {
    let (session, pause) = state.withLock { state in
      state.isStopped = true
      return (state.session, state.pause)
    }
    session?.stop()
    pause?.cancel()
  }

  /// Prints its figures so far.
  func sayFigures() {
    guard let session = state.withLock(\.session) else { return }
    StandardError.$speaker.withValue(plan.name) { session.sayFigures() }
  }
}
