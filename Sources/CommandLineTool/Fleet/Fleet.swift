import Glibc
import JetStream
import Outputs
import RTPWire
import Receiver
import Serving
import Transports

/// Runs the cameras of a file, and follows its changes.
actor Fleet {
  /// What a fleet is told.
  enum Event: Sendable {
    case reload
    case stop
    case stopAtOnce
    case inquiry
    case cameraEnded
    case reloaded
    /// What was to end has ended, or will not.
    case ended
    case cluster(ClusterMember.Event)
  }

  typealias Events = (stream: AsyncStream<Event>, continuation: AsyncStream<Event>.Continuation)

  /// `nil` where the cluster alone says which cameras there are.
  private let path: String?
  /// Those that have ended by themselves too: only a change begins them anew.
  private var cameras: [FleetCamera] = []
  /// Those that were to end at a reload and have not: what they write to hangs.
  private var stuck: [FleetCamera] = []
  private let first: FleetPlan?
  /// Which of the cameras are received here, where there are more machines.
  private let cluster: FleetCluster?
  private var rows = ClusterRows()
  /// What is being done about each camera of the cluster, by its name.
  private var changes: [String: Task<Void, Never>] = [:]
  /// Why there is no cluster so far.
  private var absence = RepeatedFailure()
  private let page = FleetPage()
  private let monitor: MonitorScreen?
  /// What the monitor knows of each camera, by its name.
  private var watched: [String: MonitoredStream] = [:]
  private let notice = ServiceNotice()
  private let events: Events
  private var isReloading = false
  private var isStopping = false
  private var hasStopped = false
  private var clusterFailed = false
  /// Whether the file was to be read again while it was being followed.
  private var reloadsAgain = false

  /// So many cameras a second begin, so that their key pictures do not all come at once.
  private static let startsPerSecond = 50
  /// How long after a camera of the cluster could not begin it is tried again.
  private static let rowPause = Duration.seconds(30)
  /// How long a camera may take to end before others begin.
  private let longestEnd: Duration
  /// How long all may take to end before the fleet ends without them.
  private let longestStop: Duration
  /// What a run takes at most, with its capture and its statistics behind it.
  private static let usualEnd = OutputLane.longestStoring * 2 + .seconds(5)
  /// How long outputs may take that are ended at once.
  private static let patience = Duration.seconds(2)

  init(
    _ plan: FleetPlan?, at path: String?, in cluster: FleetCluster? = nil, events: Events,
    monitor: MonitorScreen? = nil, longestEnd: Duration = usualEnd,
    longestStop: Duration = usualEnd
  ) {
    (self.longestEnd, self.longestStop) = (longestEnd, longestStop)
    self.monitor = monitor
    self.cluster = cluster
    first = plan
    self.path = path
    self.events = events
  }

  /// The signals, as `events`; the first one ends the process where nothing `hasBegun`.
  static func signals(
    to events: Events, hasBegun: @escaping @Sendable () -> Bool
  ) -> TerminationSignals {
    let continuation = events.continuation
    return TerminationSignals(
      first: {
        guard hasBegun() else { exit(ExitStatus.done.rawValue) }
        continuation.yield(.stop)
      }, again: { continuation.yield(.stopAtOnce) },
      inquiry: { continuation.yield(.inquiry) }, reload: { continuation.yield(.reload) })
  }

  /// Runs until a signal comes, or all cameras have ended by themselves.
  ///
  /// - Returns: what went wrong for good.
  func run() async -> ExitStatus {
    let telling = notice.keepTelling {
      let cameras = await self.cameras
      return "\(await cameras.connected) of \(cameras.count) cameras connected"
    }
    defer { telling?.cancel() }
    do throws(CannotWrite) {
      try await page.serve(at: first?.page)
    } catch {
      StandardError.say(.error("\(error)"))
      return error.status
    }
    monitor?.begin(refreshing: { await self.tellMonitor() }) {
      [continuation = events.continuation] in continuation.yield(.stop)
    }
    defer { monitor?.leave() }
    if let cluster {
      do {
        try cluster.begin(with: first?.rows, telling: events.continuation)
      } catch {
        StandardError.say(.error("there is no thread for the cluster: \(error)"))
        return .failed
      }
    } else {
      page.metrics.keep((first?.cameras ?? []).map(\.name))
      begin(first?.cameras ?? [])
    }
    notice.send("READY=1")
    for await event in events.stream {
      switch event {
      case .reload: beginReload()
      case .reloaded:
        isReloading = false
        if !isStopping { notice.send("READY=1") }
        if reloadsAgain { beginReload() }
      case .inquiry: for camera in cameras { camera.sayFigures() }
      case .cameraEnded: break
      case .ended: hasStopped = true
      case .cluster(let event): follow(event)
      case .stop:
        monitor?.leave()
        beginEnd()
      case .stopAtOnce: await endAtOnce()
      }
      if !isStopping, !isReloading, cluster == nil, cameras.areOver { beginEnd() }
      if hasStopped || isStopping && (cameras + stuck).areOver {
        sayStuck((cameras + stuck).filter { $0.status == nil })
        await cluster?.member.leave()
        await page.stop()
        return failure
      }
    }
    return .done
  }

  private func begin(_ plans: [FleetPlan.Camera]) {
    for (number, plan) in plans.enumerated() {
      let camera = FleetCamera(
        plan,
        showingOn: plan.isShown
          ? page.live.camera(
            plan.name, source: plan.command.sourceOnPage, box: plan.command.decoder.sandbox.box)
          : nil,
        counting: page.metrics, watched: watch(plan.name))
      cameras.append(camera)
      camera.begin(
        after: Duration.seconds(1) / Self.startsPerSecond * number,
        behind: stuck.filter { $0.plan.holdsUp(plan) }
      ) { [continuation = events.continuation] in continuation.yield(.cameraEnded) }
    }
  }

  /// What the monitor knows of a camera, if there is one.
  private func watch(_ name: String) -> MonitoredStream? {
    guard monitor != nil else { return nil }
    let stream = watched[name] ?? MonitoredStream(name)
    watched[name] = stream
    return stream
  }

  private func tellMonitor() async {
    monitor?.keep(cameras.compactMap { watched[$0.plan.name] })
    for camera in cameras { await camera.tellMonitor() }
  }

  /// What went wrong for good.
  private var failure: ExitStatus {
    // Who has never reached the cluster has received nothing.
    if clusterFailed || cluster?.member.wasReached == false { return .cannotOpen }
    // One that does not end has an output that is not whole.
    guard (cameras + stuck).areOver else { return .outputFailed }
    // A camera that is down when the fleet is stopped is not a failure of the fleet.
    return cameras.contains { $0.status == .outputFailed } ? .outputFailed : .done
  }

  private func beginEnd() {
    isStopping = true
    cluster?.member.stopTaking()
    notice.send("STOPPING=1")
    Task(executorPreference: CommandLineTool.tasks) {
      [all = cameras + stuck, longestStop, continuation = events.continuation] in
      _ = await all.end(within: longestStop)
      continuation.yield(.ended)
    }
  }

  private func sayStuck(_ cameras: [FleetCamera]) {
    for camera in cameras {
      StandardError.say(
        .warning("\(camera.plan.name): it does not end; a file that it uses does not answer"))
    }
  }

  /// Ends what still writes, after something whole where that is quick.
  private func endAtOnce() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = try? await Task.sleep(for: Self.patience) }
      group.addTask { [cameras] in
        await withTaskGroup(of: Void.self) { group in
          for camera in cameras { group.addTask { await camera.abandon() } }
        }
      }
      await group.next()
      StandardError.say("ended at once by a second signal")
      exit(ExitStatus.forced.rawValue)
    }
  }

  /// Follows the file beside all else; what is said meanwhile is heard.
  private func beginReload() {
    reloadsAgain = isReloading
    guard !isReloading, !isStopping else { return }
    isReloading = true
    notice.sendReloading()
    Task(executorPreference: CommandLineTool.tasks) {
      await self.reload()
      self.events.continuation.yield(.reloaded)
    }
  }

  /// Reads the file again, and follows it.
  private func reload() async {
    do {
      // All that is read can have mistakes, and nothing changes before.
      var plan: FleetPlan?
      if let path {
        plan = try await FleetReading.of(path) {
          [isWatched = monitor != nil] () throws(FleetFile.Fault) in
          try FleetPlan(at: path, isWatched: isWatched)
        }
      }
      let known = try await cluster == nil ? [] : rows.cameras(isShown: page.isServed)
      guard !isStopping else { return }
      for warning in plan?.warnings ?? [] { StandardError.say(.warning(warning)) }
      if let plan { try await page.serve(at: plan.page) }
      followChanges(of: known)
      guard let path, let plan else {
        return StandardError.say("looked again at the passwords and other files of the cameras")
      }
      await follow(plan, of: path)
    } catch {
      // A fleet that ends no longer follows the file, whatever came of reading it.
      guard !isStopping else { return }
      StandardError.say(.error("\(error); everything stays as it was"))
      page.metrics.noteReload(isGood: false)
    }
  }

  /// Does what the file at `path` says now: what did not change is not touched.
  private func follow(_ plan: FleetPlan, of path: String) async {
    if let cluster {
      cluster.member.replaceRows(by: plan.rows)
      page.metrics.noteReload(isGood: true)
      return StandardError.say(
        "read \(path) again: the cluster has \(plan.rows.count.counted("camera"))")
    }
    let change = FleetChange(from: cameras, to: plan.cameras)
    StandardError.say("read \(path) again: \(change)")
    // A camera may begin where another has ended: the same port, the same file. One that is stuck
    // holds up only the next one of its name, and those that write to its files.
    let late = await change.ending.end(within: longestEnd)
    guard !isStopping else { return }
    sayStuck(late)
    stuck = stuck.filter { $0.status == nil } + late
    cameras = change.kept
    page.metrics.keep(plan.cameras.map(\.name))
    watched = watched.filter { name, _ in plan.cameras.contains { $0.name == name } }
    page.metrics.noteReload(isGood: true)
    begin(change.beginning)
    page.live.keep(plan.cameras.map(\.name))
  }

  /// Does what the cluster wants; what it wants of one camera is done in its order.
  private func follow(_ event: ClusterMember.Event) {
    switch event {
    case .remark(let words): StandardError.say(words)
    case .unreached(let reason):
      guard absence.note(reason, at: .now) != nil else { return }
      StandardError.say(.error("no camera is received until NATS is reached: \(reason)"))
    case .failed(let error):
      StandardError.say(.error("\(error); the cameras of the cluster are left to others"))
      clusterFailed = true
      beginEnd()
    case .begin(let name, let row):
      StandardError.say("\(name): this machine receives it")
      rows.take(name, as: row)
      change(name) { await $0.begin(name, of: row) }
    case .end(let name, let ended):
      StandardError.say("\(name): it is left to other machines")
      rows.leave(name)
      change(name) {
        await $0.replace(name, by: nil)
        ended()
      }
    }
  }

  /// Begins a camera of the cluster, whose row was right a moment before: if a file that it names
  /// is gone, or does not answer, that may pass.
  private func begin(_ name: String, of row: String) async {
    let isShown = page.isServed
    do throws(FleetFile.Fault) {
      let camera = try await FleetReading.of("camera '\(name)' of the cluster") {
        () throws(FleetFile.Fault) in
        try FleetCluster.camera(name, row, isShown: isShown)
      }
      guard rows.has(row, of: name) else { return }
      rows.began(name)
      await replace(name, by: camera)
    } catch {
      let words = "\(error)".printable
      if let words = rows.words(on: words, of: name, at: .now) {
        StandardError.say(.error(words))
      }
      Task(executorPreference: CommandLineTool.tasks) {
        try? await Task.sleep(for: Self.rowPause)
        await self.beginAgain(name, of: row)
      }
    }
  }

  private func beginAgain(_ name: String, of row: String) {
    guard !isStopping, rows.has(row, of: name) else { return }
    change(name) { await $0.begin(name, of: row) }
  }

  /// Begins those anew whose files say something else now.
  private func followChanges(of known: [(row: String, camera: FleetPlan.Camera)]) {
    for (row, camera) in known {
      let name = camera.name
      change(name) {
        guard $0.rows.has(row, of: name),
          let former = $0.cameras.first(where: { $0.plan.name == name }),
          !camera.isSame(as: former.plan)
        else { return }
        StandardError.say("\(name): what it reads has changed")
        await $0.replace(name, by: camera)
      }
    }
  }

  private func change(_ name: String, _ body: @escaping @Sendable (isolated Fleet) async -> Void) {
    let former = changes[name]
    changes[name] = Task(executorPreference: CommandLineTool.tasks) {
      await former?.value
      await body(self)
    }
  }

  /// Ends the camera of that name, if there is one, and begins `plan`, if there is any.
  private func replace(_ name: String, by plan: FleetPlan.Camera?) async {
    if let former = cameras.first(where: { $0.plan.name == name }) {
      _ = await former.end()
      cameras.removeAll { $0 === former }
    }
    guard !isStopping || plan == nil else { return }
    let names = cameras.map(\.plan.name) + (plan == nil ? [] : [name])
    page.metrics.keep(names)
    watched = watched.filter { names.contains($0.key) }
    if let plan { begin([plan]) }
    page.live.keep(names)
  }
}
