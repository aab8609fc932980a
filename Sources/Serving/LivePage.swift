import BlockingIO
public import Decode
import NIOCore
import Outputs
import Receiver
import Synchronization

/// The cameras that can be watched in a browser, and whoever watches them.
///
/// Nothing is measured while no page is open.
public final class LivePage: Sendable {
  private struct State: Sendable {
    var cameras: [LiveCamera] = []
    var viewers: [ObjectIdentifier: Viewer] = [:]
    var lastNumber: UInt16 = 0
    /// Measures while pages are open.
    var measuring: Task<Void, Never>?
    /// The last snapshot that was begun.
    var snapshot: Task<Void, Never>?
    /// How many are being made, or wait for that.
    var snapshots = 0
  }

  private let state = Mutex(State())
  private let tasks = TaskQueue(label: "rtp-recv.page")

  private static let interval = Duration.seconds(1)

  public init() {}

  /// The camera `name`, which is new or was there before.
  ///
  /// - Parameters:
  ///   - name: with small letters, digits, `-` and `_`, and at most 63 of them.
  ///   - source: what is received, without a password.
  ///   - box: has its pictures decoded in a process of its own; `nil` for this one.
  /// - Returns: what takes its pictures.
  public func camera(_ name: String, source: String, box: DecoderBox? = nil) -> LiveCamera {
    let (camera, isNew) = state.withLock { state in
      if let camera = state.cameras.first(where: { $0.name == name }) {
        (camera.source, camera.box) = (source, box)
        return (camera, false)
      }
      state.lastNumber &+= 1
      let camera = LiveCamera(
        name: name, number: state.lastNumber, source: source, box: box,
        tell: { [weak self] number, event in self?.tell([event], of: number) })
      state.cameras.append(camera)
      return (camera, true)
    }
    if isNew { camerasChanged() }
    return camera
  }

  /// Has no cameras but those called `names` from now on, in that order.
  public func keep(_ names: [String]) {
    state.withLock { state in
      let cameras = state.cameras
      state.cameras = names.compactMap { name in cameras.first { $0.name == name } }
    }
    camerasChanged()
  }

  /// Adds the routes of the page and of snapshots.
  func add(to routes: inout Routes) {
    PageFiles.add(to: &routes)
    routes.add(from: "/cameras/", to: "/snapshot.jpg") { [self] name, request in
      await snapshot(of: name, for: request)
    }
  }

  // MARK: - Viewers

  func camera(_ name: String) -> LiveCamera? {
    state.withLock { state in state.cameras.first { $0.name == name } }
  }

  func join(_ viewer: Viewer) {
    // What changes from now on comes too, some of it twice.
    let cameras = state.withLock { state in
      state.viewers[ObjectIdentifier(viewer)] = viewer
      if state.measuring == nil {
        state.measuring = Task(executorPreference: tasks) { await self.measure() }
      }
      return state.cameras
    }
    viewer.greet(
      with: [cameraList]
        + cameras.compactMap { camera -> ByteBuffer? in
          let events = camera.events
          return events.isEmpty ? nil : Self.json(of: events, of: camera.number)
        })
  }

  func leave(_ viewer: Viewer) {
    let cameras = state.withLock { state in
      state.viewers[ObjectIdentifier(viewer)] = nil
      if state.viewers.isEmpty {
        state.measuring?.cancel()
        state.measuring = nil
      }
      return state.cameras
    }
    for camera in cameras {
      camera.remove(viewer)
      camera.removeListener(viewer)
    }
  }

  /// Does what a page asks for; what makes no sense any more is left out: the camera may have gone.
  func perform(_ command: ViewerCommand, for viewer: Viewer) {
    switch command {
    case .watch(let name, let form): camera(name)?.add(viewer, as: form)
    case .stop(let name): camera(name)?.remove(viewer)
    case .listen(let name):
      silence(viewer)
      camera(name)?.addListener(viewer)
    case .mute: silence(viewer)
    }
  }

  private func silence(_ viewer: Viewer) {
    for camera in state.withLock(\.cameras) { camera.removeListener(viewer) }
    viewer.mute()
  }

  /// Tells all pages once a second what is measured.
  private func measure() async {
    while !Task.isCancelled {
      var figures: [JSONLine] = []
      for camera in state.withLock(\.cameras) {
        figures.append(await camera.figures.json(of: camera.number))
      }
      var line = JSONLine()
      line.add("type", "figures")
      line.add("cameras", figures)
      tellAll(ByteBuffer(string: line.text))
      try? await Task.sleep(for: Self.interval)
    }
  }

  private func tellAll(_ text: ByteBuffer) {
    for viewer in state.withLock(\.viewers).values { viewer.offer(text) }
  }

  private func tell(_ events: [LiveEvent], of camera: UInt16) {
    guard !state.withLock(\.viewers.isEmpty) else { return }
    tellAll(Self.json(of: events, of: camera))
  }

  private static func json(of events: [LiveEvent], of camera: UInt16) -> ByteBuffer {
    var line = JSONLine()
    line.add("type", "events")
    line.add("id", camera)
    line.add("events", events.map(\.json))
    return ByteBuffer(string: line.text)
  }

  private func camerasChanged() {
    let cameras = state.withLock(\.cameras)
    let share = PictureGroup.allUnwatched / max(cameras.count, 1)
    for camera in cameras {
      camera.setShare(min(max(share, PictureGroup.least), PictureGroup.limits.bytes))
    }
    tellAll(cameraList)
  }

  private var cameraList: ByteBuffer {
    var line = JSONLine()
    line.add("type", "cameras")
    line.add(
      "cameras",
      state.withLock(\.cameras).map { camera in
        var object = JSONLine()
        object.add("id", camera.number)
        object.add("name", camera.name)
        object.add("source", camera.source)
        return object
      })
    return ByteBuffer(string: line.text)
  }

  // MARK: - Snapshots

  /// Makes a snapshot once those asked for before are made: one decoder is enough.
  private func snapshot(of name: String, for request: Request) async -> Answer {
    let asked = request.query["max-age"]
    let greatestAge = asked.flatMap(Double.init) ?? Self.greatestAge
    guard greatestAge >= 0, asked == nil || asked.flatMap(Double.init) != nil else {
      return .wrong("max-age is a number of seconds")
    }
    guard let camera = camera(name) else { return .notFound }
    let snapshot = state.withLock { state -> Task<Answer, Never>? in
      guard state.snapshots < Self.mostSnapshots else { return nil }
      state.snapshots += 1
      let snapshot = Task(executorPreference: tasks) { [former = state.snapshot] in
        await former?.value
        return await Snapshot.answer(
          of: camera.group, in: camera.box, notOlderThan: greatestAge
        ) { camera.note($0) }
      }
      state.snapshot = Task(executorPreference: tasks) { _ = await snapshot.value }
      return snapshot
    }
    guard let snapshot else { return .unavailable("too many snapshots wait") }
    defer { state.withLock { $0.snapshots -= 1 } }
    return await snapshot.value
  }

  /// How many wait for those asked for before.
  private static let mostSnapshots = 32

  /// In seconds, where nothing else is asked for.
  private static let greatestAge = 10.0
}
