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
  private let failures = RunFailures()
  /// Why what it has written before could not be kept, by its path.
  private let losses = Mutex<[String: RepeatedFailure]>([:])
  /// What it opens may take its time, and must not hold up the others.
  private let tasks = TaskQueue(label: "rtp-recv.camera")
  /// How long after a run that failed the next one begins, at first.
  private let shortestPause: Duration

  private struct State: Sendable {
    var session: Session?
    var pause: Task<Void, Never>?
    var isStopped = false
    var run: Task<ExitStatus, Never>?
    var status: ExitStatus?
  }

  /// The same at most.
  private static let longestPause = Duration.seconds(30)

  init(
    _ plan: FleetPlan.Camera, showingOn shown: LiveCamera?, counting metrics: MetricsPage,
    watched: MonitoredStream?, shortestPause: Duration = .seconds(1)
  ) {
    (self.plan, self.shown, self.metrics, self.watched) = (plan, shown, metrics, watched)
    self.shortestPause = shortestPause
  }

  /// Tells the monitor where it stands.
  func tellMonitor() async { await state.withLock(\.session)?.tellMonitor() }

  /// How it has ended by itself; `nil` before that.
  var status: ExitStatus? { state.withLock(\.status) }

  /// Whether it is connected.
  var isUp: Bool {
    get async { await state.withLock(\.session)?.isConnected ?? false }
  }

  /// Begins after `delay`, once all of `former` have ended, and calls `ended` once it has ended
  /// itself.
  func begin(
    after delay: Duration, behind former: [FleetCamera] = [],
    ended: @escaping @Sendable () -> Void
  ) {
    let run = Task(executorPreference: tasks) { [self] in
      let status = await StandardError.$speaker.withValue(plan.name) {
        await CommandLineSecrets.$ofCamera.withValue(plan.secrets) {
          await RecordingOptions.$firstShare.withValue(plan.firstShare) {
            await RunFailures.$ofCamera.withValue(failures) {
              await runs(after: delay, behind: former)
            }
          }
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

  private func runs(after delay: Duration, behind former: [FleetCamera]) async -> ExitStatus {
    var pause = shortestPause
    /// Whether there may be something in the statistics and the capture.
    var hasWritten = true
    guard await rest({ await former.haveEnded() }), await rest(for: delay) else { return .done }
    while true {
      let start = ContinuousClock.now
      keepFormerFiles(includingRecords: hasWritten)
      let status = await receive()
      hasWritten = false
      if let session = state.withLock(\.session) {
        // One that has recorded for days may end with anything. Where nothing came, there are
        // only statistics and a capture without packets, which are of no use to anybody, and a
        // camera that is off has many such runs.
        hasWritten = await session.status.transport.delivered > 0
        await metrics.end(session, of: plan.name, as: status)
      }
      state.withLock { $0.session = nil }
      // The options were right when the file was read, so whatever is wrong may pass: a certificate
      // was replaced and its key was not yet, or there was no thread.
      if status == .done || state.withLock(\.isStopped) { return status }
      switch status {
      // A camera may lock the account of whoever tries again and again.
      case .credentialsRefused, .notTrusted: pause = Self.longestPause
      default: if start.duration(to: .now) > Self.longestPause { pause = shortestPause }
      }
      guard await rest(for: pause * Double.random(in: 0.75...1.25)) else { return status }
      pause = min(pause * 2, Self.longestPause)
    }
  }

  /// Moves what earlier runs have written out of the way: each run of the command replaces files
  /// of fixed names, and those of a fleet begin unasked.
  ///
  /// The disk of a recording may have come since the last run, in which nothing was written.
  private func keepFormerFiles(includingRecords: Bool) {
    let command = plan.command
    for path in command.replacedRecordings + (includingRecords ? command.replacedRecords : []) {
      do throws(CannotWrite) {
        try FormerFile.keep(path)
      } catch {
        let words = "\(error)"
        let count = losses.withLock { losses in
          losses[path, default: RepeatedFailure()].note(words, at: .now)
        }
        if count != nil { StandardError.say(.warning(words)) }
      }
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
      RunFailures.say(RTPRecv.explanation(of: error))
      return .failed
    }
  }

  /// Waits; `false` if it was stopped.
  private func rest(for time: Duration) async -> Bool {
    await rest { _ = try? await Task.sleep(for: time) }
  }

  /// Waits until `wait` returns, which it does when it is cancelled; `false` if it was stopped.
  private func rest(_ wait: @escaping @Sendable () async -> Void) async -> Bool {
    let pause = Task(executorPreference: tasks) { await wait() }
    let isStopped = state.withLock { state in
      state.pause = pause
      return state.isStopped
    }
    if isStopped { pause.cancel() }
    await pause.value
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

extension [FleetCamera] {
  /// Whether all of them have ended.
  var areOver: Bool { allSatisfy { $0.status != nil } }

  /// How many of them are connected.
  var connected: Int {
    get async {
      var count = 0
      for camera in self where await camera.isUp { count += 1 }
      return count
    }
  }

  /// Ends them, and returns those that have not ended within `limit`.
  func end(within limit: Duration) async -> [FleetCamera] {
    for camera in self { camera.stop() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await haveEnded() }
      group.addTask { _ = try? await Task.sleep(for: limit) }
      await group.next()
      group.cancelAll()
    }
    return filter { $0.status == nil }
  }

  /// Returns once all of them have ended, or when the task is cancelled: one whose file server
  /// hangs may never end.
  func haveEnded() async {
    guard contains(where: { $0.status == nil }) else { return }
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    Task(executorPreference: CommandLineTool.tasks) {
      for camera in self { _ = await camera.end() }
      end.finish()
    }
    for await _ in ends {}
  }
}
