import ArgumentParser
import CoreMetrics
import NIOCore
import Outputs
import Receiver
import Serving
import Synchronization
import Telemetry

/// The metrics of all cameras of this process, for those who ask.
///
/// While nobody asks, nothing is done. Figures that a camera cannot give in time are the last ones
/// that are known.
actor MetricsPage {
  /// A camera, and what runs it now.
  private struct Camera: Sendable {
    let metrics: CameraMetrics
    var run: (session: Session, number: CameraMetrics.Run)?
  }

  private let registry = MetricsRegistry()
  private let process: ProcessMetrics
  private let configuration: ConfigurationMetrics
  private let storage = Storage()
  private let cameras = Mutex<[String: Camera]>([:])
  private let tasks = TaskQueue(label: "rtp-recv.metrics")
  private var isCollecting = false

  /// How long a camera and a disk may take to say how they are.
  private static let patience = Duration.seconds(1)
  private static let path = "/metrics"

  init() {
    configuration = ConfigurationMetrics(factory: registry)
    process = ProcessMetrics(version: RTPRecv.configuration.version, factory: registry)
    // What libraries count is shown too, unless a program has its own use for it.
    if MetricsSystem.factory is NOOPMetricsHandler { MetricsSystem.bootstrap(registry) }
  }

  /// Forgets all cameras but these, and begins to count for those that are new.
  nonisolated func keep(_ names: [String]) {
    cameras.withLock { cameras in
      cameras = names.reduce(into: [:]) { kept, name in
        kept[name] =
          cameras[name]
          ?? Camera(metrics: CameraMetrics(camera: name, factory: registry))
      }
    }
  }

  /// Notes that a run of a camera begins.
  nonisolated func begin(_ session: Session, of name: String) {
    cameras.withLock { cameras in
      guard let metrics = cameras[name]?.metrics else { return }
      cameras[name]?.run = (session, metrics.beginRun())
    }
  }

  /// Notes what the run of a camera came to.
  nonisolated func end(_ session: Session, of name: String, as status: ExitStatus) async {
    let figures = await session.status
    let camera = cameras.withLock(\.[name])
    guard let camera, let run = camera.run, run.session === session else { return }
    camera.metrics.endRun(run.number, as: figures, isFailure: status != .done)
    cameras.withLock { $0[name]?.run = nil }
  }

  /// Notes that the file of the cameras was read again.
  nonisolated func noteReload(isGood: Bool) { configuration.noteReload(isGood: isGood) }

  /// Where the metrics are served.
  nonisolated var routes: Routes {
    var routes = Routes()
    routes.add(Self.path) { [self] request in
      let format = MetricsFormat(accept: request.header("accept"))
      return Answer(
        contentType: format.contentType, body: ByteBuffer(string: await text(as: format)))
    }
    return routes
  }

  /// All metrics as they are now.
  func text(as format: MetricsFormat) async -> String {
    await collect()
    return registry.text(as: format)
  }

  /// Asks all cameras, or waits for nobody where that is still going on.
  private func collect() async {
    guard !isCollecting else { return }
    isCollecting = true
    process.note()
    let cameras = Array(cameras.withLock(\.values))
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    Task(executorPreference: tasks) { [storage] in
      let folders = cameras.flatMap { $0.run?.session.folders ?? [] }
      await storage.look(at: Set(folders.map(\.folder)), within: Self.patience)
      await withTaskGroup(of: Void.self) { group in
        for camera in cameras {
          guard let run = camera.run else { continue }
          group.addTask {
            camera.metrics.note(await run.session.status, of: run.number)
            camera.metrics.note(storage, in: run.session.folders)
          }
        }
      }
      await self.collected()
      end.finish()
    }
    let timer = Task(executorPreference: tasks) {
      try? await Task.sleep(for: Self.patience)
      end.finish()
    }
    for await _ in ends {}
    timer.cancel()
  }

  private func collected() { isCollecting = false }
}
