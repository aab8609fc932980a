import ArgumentParser
import RTPWire
import Receiver
import Serving
import Synchronization

/// A camera of a fleet: its runs, one after another, until it is stopped or has ended by itself.
final class FleetCamera: Sendable {
  let plan: FleetPlan.Camera
  /// What it is on the page.
  private let shown: LiveCamera?
  private let metrics: MetricsPage
  private let watched: MonitoredStream?
  private let state = Mutex(State())
  /// What it opens may take its time, and must not hold up the others.
  private let tasks = TaskQueue(label: "rtp-recv.camera")

  private struct State: Sendable {
    var session: Session?
    var pause: Task<Void, Never>?
    var isStopped = false
    var run: Task<ExitStatus, Never>?
    var status: ExitStatus?
  }

  /// How long after a run that failed the next one begins: at first, and at most.
  private static let shortestPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(30)

  init(
    _ plan: FleetPlan.Camera, showingOn shown: LiveCamera?, counting metrics: MetricsPage,
    watched: MonitoredStream?
  ) {
    (self.plan, self.shown, self.metrics, self.watched) = (plan, shown, metrics, watched)
  }

  /// Tells the monitor where it stands.
  func tellMonitor() async { await state.withLock(\.session)?.tellMonitor() }

  /// How it has ended by itself; `nil` before that.
  var status: ExitStatus? { state.withLock(\.status) }

  /// Whether it is connected.
  var isUp: Bool {
    get async { await state.withLock(\.session)?.isConnected ?? false }
  }

  /// Begins after `delay`, and calls `ended` once it has ended.
  func begin(after delay: Duration, ended: @escaping @Sendable () -> Void) {
    let run = Task(executorPreference: tasks) { [self] in
      let status = await StandardError.$speaker.withValue(plan.name) {
        await CommandLineSecrets.$ofCamera.withValue(plan.secrets) {
          await RecordingOptions.$firstShare.withValue(plan.firstShare) { await runs(after: delay) }
        }
      }
      state.withLock { $0.status = status }
      ended()
      return status
    }
    state.withLock { $0.run = run }
  }

  /// Waits until it has ended; the status is that of its last run.
  func end() async -> ExitStatus {
    stop()
    return await state.withLock(\.run)?.value ?? .done
  }

  private func runs(after delay: Duration) async -> ExitStatus {
    var pause = Self.shortestPause
    /// Whether there may be something in the files.
    var hasWritten = true
    guard await rest(for: delay) else { return .done }
    while true {
      let start = ContinuousClock.now
      if hasWritten { keepFormerFiles() }
      let status = await receive()
      hasWritten = !Self.nothingCame.contains(status)
      if let session = state.withLock(\.session) {
        await metrics.end(session, of: plan.name, as: status)
      }
      state.withLock { $0.session = nil }
      // Nothing changes what is wrong with the options.
      if status == .done || status == .usage || state.withLock(\.isStopped) { return status }
      switch status {
      // A camera may lock the account of whoever tries again and again.
      case .credentialsRefused, .notTrusted: pause = Self.longestPause
      default: if start.duration(to: .now) > Self.longestPause { pause = Self.shortestPause }
      }
      guard await rest(for: pause * Double.random(in: 0.75...1.25)) else { return status }
      pause = min(pause * 2, Self.longestPause)
    }
  }

  /// How runs end that have received nothing: their statistics are of no use to anybody, and a
  /// camera that is off has many such runs.
  private static let nothingCame: Set<ExitStatus> = [
    .cannotOpen, .credentialsRefused, .noMedia, .notTrusted, .redirectRefused, .noSuchStream,
  ]

  /// Moves what earlier runs have written out of the way: each run of the command replaces files
  /// of fixed names, and those of a fleet begin unasked.
  private func keepFormerFiles() {
    do throws(CannotWrite) {
      for path in plan.command.replacedPaths { try FormerFile.keep(path) }
    } catch {
      StandardError.say(.warning("\(error)"))
    }
  }

  private func receive() async -> ExitStatus {
    do {
      return try await plan.command.receive(showingOn: shown, watched: watched) { session in
        let isStopped = state.withLock { state in
          state.session = session
          return state.isStopped
        }
        metrics.begin(session, of: plan.name)
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
    let sleep = Task(executorPreference: tasks) { _ = try? await Task.sleep(for: time) }
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

  /// Ends its outputs at once, each after something whole.
  func abandon() async { await state.withLock(\.session)?.abandon() }

  /// Prints its figures so far.
  func sayFigures() {
    guard let session = state.withLock(\.session) else { return }
    StandardError.$speaker.withValue(plan.name) { session.sayFigures() }
  }
}
