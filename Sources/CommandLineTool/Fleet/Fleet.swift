import Glibc
import NIOCore
import NIOPosix
import RTPWire

/// Runs the cameras of a file, and follows its changes.
actor Fleet {
  private enum Event: Sendable {
    case reload
    case stop
    case cameraEnded(FleetCamera, ExitStatus)
    case tick
  }

  private let path: String
  private var cameras: [FleetCamera] = []
  /// How cameras ended that did so by themselves.
  private var endings: [ExitStatus] = []
  private let first: FleetPlan
  private let notice = ServiceNotice()
  private let events = AsyncStream.makeStream(of: Event.self)

  /// So many cameras a second begin, because each asks its server for a key picture.
  private static let startsPerSecond = 50
  private static let tick = Duration.seconds(2)

  init(_ plan: FleetPlan, at path: String) {
    first = plan
    self.path = path
  }

  /// Runs until a signal comes, or all cameras have ended by themselves.
  func run() async -> ExitStatus {
    let signals = TerminationSignals(
      first: { [continuation = events.continuation] in continuation.yield(.stop) },
      again: {
        StandardError.say("ended at once by a second signal")
        exit(ExitStatus.forced.rawValue)
      },
      inquiry: { Task { await self.sayFigures() } },
      reload: { [continuation = events.continuation] in continuation.yield(.reload) })
    defer { withExtendedLifetime(signals) {} }
    let ticking = Task { [continuation = events.continuation] in
      let tick = notice.watchdogInterval.map { min($0, Self.tick) } ?? Self.tick
      while (try? await Task.sleep(for: tick)) != nil { continuation.yield(.tick) }
    }
    defer { ticking.cancel() }
    begin(first.cameras)
    notice.send("READY=1")
    for await event in events.stream {
      switch event {
      case .reload: await reload()
      case .tick: await tellService()
      case .cameraEnded(let camera, let status):
        guard let index = cameras.firstIndex(where: { $0 === camera }) else { continue }
        cameras.remove(at: index)
        endings.append(status)
        if cameras.isEmpty { return endings.first { $0 != .done } ?? .done }
      case .stop:
        notice.send("STOPPING=1")
        await end(cameras)
        return .done
      }
    }
    return .done
  }

  private var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]

  private func begin(_ plans: [FleetPlan.Camera]) {
    for (number, plan) in plans.enumerated() {
      let camera = FleetCamera(plan)
      cameras.append(camera)
      let delay = Duration.seconds(1) / Self.startsPerSecond * number
      tasks[ObjectIdentifier(camera)] = Task(executorPreference: CommandLineTool.tasks) {
        [continuation = events.continuation] in
        try? await Task.sleep(for: delay)
        let status = await camera.run()
        continuation.yield(.cameraEnded(camera, status))
      }
    }
  }

  /// Ends `ending`, and waits until their files are closed.
  private func end(_ ending: [FleetCamera]) async {
    cameras.removeAll { camera in ending.contains { $0 === camera } }
    for camera in ending { camera.stop() }
    for camera in ending { await tasks.removeValue(forKey: ObjectIdentifier(camera))?.value }
  }

  /// Follows the file: what did not change is not touched.
  private func reload() async {
    notice.sendReloading()
    defer { notice.send("READY=1") }
    let plan: FleetPlan
    do {
      plan = try FleetPlan(at: path)
    } catch {
      StandardError.say(.error("\(error); everything stays as it was"))
      return
    }
    for warning in plan.warnings { StandardError.say(.warning(warning)) }
    let kept = cameras.filter { camera in
      plan.cameras.contains {
        $0.name == camera.plan.name && $0.secrets == camera.plan.secrets
      }
    }
    let ending = cameras.filter { camera in !kept.contains { $0 === camera } }
    await end(ending)
    let names = Set(kept.map(\.plan.name))
    let beginning = plan.cameras.filter { !names.contains($0.name) }
    begin(beginning)
    let replaced = beginning.filter { new in ending.contains { $0.plan.name == new.name } }.count
    StandardError.say(
      "read \(path) again: \(kept.count) unchanged, \(replaced) changed, "
        + "\(beginning.count - replaced) new, \(ending.count - replaced) gone")
  }

  private func sayFigures() {
    for camera in cameras { camera.sayFigures() }
  }

  /// Says how many cameras are up, and that all event loops turn.
  private func tellService() async {
    guard notice.isWanted else { return }
    var up = 0
    for camera in cameras where await camera.isUp { up += 1 }
    notice.send("STATUS=\(up) of \(cameras.count) cameras connected")
    for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
      // One that hangs keeps this waiting, and the service manager acts.
      try? await loop.submit {}.get()
    }
    notice.send("WATCHDOG=1")
  }
}
