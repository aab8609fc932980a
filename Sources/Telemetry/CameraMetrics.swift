import BlockingIO
public import CoreMetrics
public import Outputs
public import Receiver
import Reception
import Synchronization

/// The metrics of one camera, handed to swift-metrics: whatever its backend is, it gets the same
/// names, labels and values.
///
/// ```swift
/// MetricsSystem.bootstrap(MetricsRegistry())
/// let metrics = CameraMetrics(camera: "front")
/// await metrics.follow(receiver, every: .seconds(10))
/// ```
///
/// Counters go on where one run follows another. All of it is gone once the object is.
public final class CameraMetrics: Sendable {
  private let camera: String
  private let clock: WallClock
  private let factory: any MetricsFactory
  private let state = Mutex(State())

  /// One run, so that figures that come late are not taken for those of the next.
  public struct Run: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  private struct State {
    var runs: UInt64 = 0
    /// The one that is going on.
    var run: Run?
    var figures: [Reading.Key: Figure] = [:]
    /// The key of what is said of the stream, which is replaced when it changes.
    var stream: Reading.Key?
    /// The errors of outputs that were counted in this run, by the places of the outputs.
    var faults: Set<Int> = []
  }

  /// Makes the metrics of the camera of that name; nothing is known of it yet.
  ///
  /// - Parameters:
  ///   - camera: the value of the label `camera`; there is one object for each.
  ///   - clock: turns arrivals into Unix time.
  ///   - factory: what takes the figures.
  public init(
    camera: String, clock: WallClock = .system,
    factory: any MetricsFactory = MetricsSystem.factory
  ) {
    (self.camera, self.clock, self.factory) = (camera, clock, factory)
    update { set(.resting, &$0) }
  }

  deinit {
    let figures = state.withLock { $0.figures }
    for figure in figures.values { figure.destroy(factory) }
  }

  /// Notes that a run begins, whose counters begin with 0.
  public func beginRun() -> Run {
    state.withLock { state in
      state.runs += 1
      let run = Run(number: state.runs)
      state.run = run
      for key in state.figures.keys { state.figures[key]?.begin() }
      state.faults = []
      add(1, to: .runs, &state)
      // Without a zero before it, the first failure would be no increase.
      add(0, to: .runsFailed, &state)
      return run
    }
  }

  /// Notes what a run came to, and that it is over.
  public func endRun(_ run: Run, as status: Receiver.Status, isFailure: Bool) {
    note(status, of: run)
    update { state in
      guard state.run == run else { return }
      state.run = nil
      set(.resting, &state)
      if isFailure { add(1, to: .runsFailed, &state) }
    }
  }

  /// Notes what a run has come to so far, unless it is over.
  public func note(_ status: Receiver.Status, of run: Run) {
    let readings = status.readings(by: clock)
    update { state in
      guard state.run == run else { return }
      set(CameraState(of: status, at: .now), &state)
      for reading in readings {
        if reading.family == .stream { forgetStream(unlessItIs: reading.key, &state) }
        set(reading, &state)
      }
      for (place, output) in status.outputs.enumerated() {
        let isNew = output.hasFailed && state.faults.insert(place).inserted
        add(isNew ? 1 : 0, to: .outputFaults, &state, [Reading.Label("output", output.format)])
      }
    }
  }

  /// Notes what else is known of the camera now.
  func note(_ readings: [Reading]) {
    update { state in
      for reading in readings { set(reading, &state) }
    }
  }

  /// Notes what `receiver` has come to, again and again, until its run is over or the task is
  /// cancelled; backends that are asked by nobody have the latest figures then.
  ///
  /// It runs the receiver.
  ///
  /// - Returns: how the run ended.
  public func follow(_ receiver: Receiver, every interval: Duration) async -> Receiver.Report {
    let run = beginRun()
    let notes = Task { [weak self] in
      while (try? await Task.sleep(for: interval)) != nil {
        self?.note(await receiver.status(), of: run)
      }
    }
    let report = await receiver.run()
    notes.cancel()
    await notes.value
    let hasFailed = report.reason.isFailure || report.outputs.contains { $0.error != nil }
    endRun(run, as: report.status, isFailure: hasFailed)
    return report
  }

  // MARK: - Inside

  private func update(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

  private func set(_ cameraState: CameraState, _ state: inout State) {
    for each in CameraState.allCases {
      set(Reading(.state, now: each == cameraState ? 1 : 0, "state", each.rawValue), &state)
    }
    set(Reading(.up, now: cameraState == .playing ? 1 : 0), &state)
  }

  private func set(_ reading: Reading, _ state: inout State) {
    prepare(reading, &state)
    state.figures[reading.key]?.set(reading.value)
  }

  /// Counts what is counted here, and not in a run.
  private func add(
    _ count: UInt64, to family: MetricFamily, _ state: inout State,
    _ labels: [Reading.Label] = []
  ) {
    let reading = Reading(family: family, labels: labels, value: .count(0))
    prepare(reading, &state)
    state.figures[reading.key]?.add(count)
  }

  /// Makes the figure, if it is the first time.
  private func prepare(_ reading: Reading, _ state: inout State) {
    let key = reading.key
    guard state.figures[key] == nil else { return }
    let labels = [("camera", camera)] + key.labels.map { ($0.name, $0.value) }
    state.figures[key] = Figure(reading, labels, factory)
  }

  private func forgetStream(unlessItIs key: Reading.Key, _ state: inout State) {
    guard let former = state.stream, former != key else { return state.stream = key }
    state.figures.removeValue(forKey: former)?.destroy(factory)
    state.stream = key
  }
}

extension EndReason {
  /// Whether a run that ends so was to go on, or never began.
  var isFailure: Bool {
    switch self {
    case .framesReached, .durationReached, .goodbye, .ended, .stopped, .outputsEnded: false
    case .noMedia, .mediaLost, .unrecognizedMedia, .otherCodec, .unsupportedMedia, .cannotOpen,
      .transportFailed, .decoderFailed:
      true
    }
  }
}
