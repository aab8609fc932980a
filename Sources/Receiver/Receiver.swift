import Bitstream
import BlockingIO
public import Decode
public import Defragment
import NIOCore
import NIOPosix
public import Outputs
import RTPWire
public import Reception
import Synchronization
public import Transports

/// Receives one stream and delivers it to sequences, outputs and closures.
///
/// ```swift
/// let receiver = try Receiver("rtsp://camera/stream")
/// for await frame in receiver.frames(.latest) {
///   print(frame.width, frame.height, frame.time.seconds)
/// }
/// print(await receiver.run().reason)
/// ```
///
/// With ``Configuration/reconnection``, a run consists of several connections. Decoder and outputs
/// continue, and ``ConnectionStatus`` says what was missed in between.
public final class Receiver: Sendable {
  /// Makes a transport, given the counters of all previous ones.
  public typealias TransportFactory =
    @Sendable (_ former: TransportCounters?) throws -> any RTPTransport

  /// How long the decoder may take to finish after ``stop()``.
  static let decodingTime: Duration = .milliseconds(700)

  private let configuration: Configuration
  /// The clock of its source.
  private let clock: ArrivalClock
  private let outputs: [RunningOutput]
  private let playout: Playout?
  private let distribution: Distribution
  private let connections: Connections
  /// Runs what a run has to wait for.
  private let tasks = TaskQueue(label: "rtp-recv.receiver")
  /// Runs what gives up a run, because an output that has stalled, or a file server, may block the
  /// other queue.
  private let ending = TaskQueue(label: "rtp-recv.ending")
  /// The run, once it was started.
  private let running = Mutex<Task<Report, Never>?>(nil)

  /// Prepares a run that receives from `transport` only.
  ///
  /// A transport opens once, so ``Configuration/reconnection`` has no effect.
  ///
  /// - Throws: as ``init(configuration:transport:)`` does.
  public convenience init(
    transport: any RTPTransport, configuration: Configuration
  ) throws {
    var configuration = configuration
    configuration.reconnection = nil
    configuration.connectsOnce = true
    try self.init(configuration: configuration) { _ in transport }
  }

  /// Prepares a run; one transport is made, and nothing is opened yet.
  ///
  /// - Parameters:
  ///   - configuration: what is wanted.
  ///   - makeTransport: makes a transport for each connection, given the counters of all previous
  ///     ones.
  /// - Throws: what `makeTransport` throws; `UnsupportedFormat` when the media is described as
  ///   something other than video of a known codec; `ThreadError` when an output cannot be started.
  public init(
    configuration: Configuration,
    transport makeTransport: @escaping TransportFactory
  ) throws {
    self.configuration = configuration
    let events = AsyncStream.makeStream(of: Connections.Event.self)
    let end: @Sendable (EndReason) -> Void = { events.continuation.yield(.runEnded($0)) }
    let transport = try makeTransport(nil)
    let clock = transport.clock
    self.clock = clock
    let playout = configuration.pacesOutputs ? clock.playout(at: configuration.playoutRate) : nil
    self.playout = playout
    let activity = Activity()
    // The run continues while any output is left.
    let living = LivingOutputs(count: configuration.outputs.count) { end(.outputsEnded) }
    outputs = try configuration.outputs.enumerated().map { number, request in
      let place = living.place(number)
      var setup = OutputLane.Configuration(target: request.target, format: request.format)
      // Units come on the event loop, which never waits; the far end is held instead.
      let policy = clock.policy(configuration.constantRate ? .block : request.policy)
      setup.policy = !request.format.inputs.needDecoding ? .dropOldest : policy
      setup.scaleToFirst = configuration.scalesToFirst
      setup.shape = request.shape
      setup.recording = request.recording
      setup.wallClock = clock.wallClock
      setup.playout = playout
      setup.pictures = request.pictures
      setup.place = place
      let lane = try OutputLane(
        setup,
        onError: { _ in place.leave() }, onCompletion: { place.leave() },
        onNews: { activity.alert() })
      return RunningOutput(
        name: request.name, format: request.format, holdsFarEnd: policy == .block, lane: lane)
    }
    distribution = Distribution(
      configuration: configuration, clock: clock, outputs: outputs, playout: playout, end: end)
    connections = try Connections(
      configuration, first: transport, then: makeTransport, events: events,
      delivering: distribution, noting: activity, on: tasks)
  }

  /// Prepares a run that receives from `source`, a URL or a file, as on the command line.
  ///
  /// - Parameters:
  ///   - source: such as `rtsp://camera/stream`, `rtp://:5004`, or a recording.
  ///   - configuration: what is wanted, apart from the sequences.
  ///   - transports: the catalogue in which the source is looked up.
  ///   - options: options for the transports.
  /// - Throws: an error about the source, and what ``init(configuration:transport:)`` throws.
  public convenience init(
    _ source: String, configuration: Configuration = Configuration(),
    transports: TransportCatalogue = .standard, options: TransportOptions = TransportOptions()
  ) throws {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    var options = options
    if options.media.knownEncodings.isEmpty {
      options.media.knownEncodings = configuration.stream.formats.encodingNames
    }
    try self.init(configuration: configuration) { [options] former in
      try transports.make(source: source, options: options, after: former, on: eventLoop)
    }
  }

  /// The frames, as they come out of the decoder.
  ///
  /// None is missing if the sequence is made before the run starts.
  ///
  /// - Parameter pressure: what happens to new frames while the loop's body is busy.
  /// - Returns: a sequence for one loop.
  public func frames(_ pressure: BackPressure = .everyOne) -> Received<RawFrame> {
    let handover = Handover<RawFrame>(pressure)
    distribution.deliver(framesTo: handover)
    return Received(receiver: self, handover: handover)
  }

  /// The access units, as they come from the network; nothing is decoded if no frames are wanted.
  ///
  /// - Parameter pressure: what happens to new units while the loop's body is busy.
  /// - Returns: a sequence for one loop.
  public func accessUnits(_ pressure: BackPressure = .everyOne) -> Received<AccessUnit> {
    let handover = Handover<AccessUnit>(
      pressure, size: \.bytes.readableBytes, isBeginning: \.isRandomAccess)
    distribution.deliver(unitsTo: handover)
    return Received(receiver: self, handover: handover)
  }

  /// The units of the sound, as they come from the network.
  ///
  /// - Parameter pressure: what happens to new units while the loop's body is busy.
  /// - Returns: a sequence for one loop.
  public func sound(_ pressure: BackPressure = .everyOne) -> Received<SoundUnit> {
    let handover = Handover<SoundUnit>(pressure, size: \.bytes.readableBytes)
    distribution.deliver(soundTo: handover)
    return Received(receiver: self, handover: handover)
  }

  /// Starts the run unless it has started.
  @discardableResult
  func start() -> Task<Report, Never> {
    running.withLock { running in
      if let running { return running }
      let task = Task(executorPreference: tasks) { await self.receive() }
      running = task
      return task
    }
  }

  /// Receives until something ends the run; all callers get the same report.
  ///
  /// Whatever is in flight at the end is still decoded and written: decoders and readers have about
  /// two seconds for that, disks ten. A caller whose task is cancelled ends the run, as ``stop()``
  /// does.
  public func run() async -> Report {
    let task = start()
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      stop()
    }
  }

  private func receive() async -> Report {
    distribution.begin()
    var reason = await connections.run()
    // A recording waits for its consumers, however long they need.
    let watch = clock.finishingTime.map { _ in
      Task(executorPreference: ending) { await self.abandonDecodingOnceStalled() }
    }
    // What nothing came in before somebody else ended the run is a gap; a sender that ended it was
    // done.
    let endsInGap =
      switch reason {
      case .durationReached, .stopped: true
      default: false
      }
    await distribution.finishDecoding(endsInGap: endsInGap)
    watch?.cancel()
    let isCutShort = await watch?.value ?? false
    // The last pictures of a stream with reordering come out at its end.
    if distribution.isComplete { reason = .framesReached }
    // A short stream is over before its decoder's process says what is missing.
    if let error = distribution.decoderFailure { reason = .decoderFailed(error) }
    distribution.endSequences()
    let summaries = await finishOutputs(within: clock.finishingTime)
    return Report(
      reason: reason, status: await status(), isCutShort: isCutShort,
      outputs: outputs.enumerated().map { index, output in
        OutputReport(
          name: output.name, inputs: output.format.inputs, summary: summaries[index])
      })
  }

  /// Ends the run normally, from any thread: within three seconds, or eleven where a disk takes
  /// nothing.
  public func stop() {
    connections.stop()
    // That of the transport may be gone by then.
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    eventLoop.scheduleTask(in: TimeAmount(Self.decodingTime)) { [self] in
      Task(executorPreference: ending) { await self.abandonDecoding() }
    }
  }

  /// Gives up what is still to be decoded once nothing comes of it (``DecodingPatience``).
  ///
  /// - Returns: whether it did, before it was cancelled.
  private func abandonDecodingOnceStalled() async -> Bool {
    var patience = DecodingPatience(at: .now)
    while let rest = patience.rest(
      decoded: distribution.statistics.decodedUnits, mayAwaitDisk: mayAwaitDisk, at: .now)
    {
      // That of the transport may be gone already.
      await distribution.decoding.wait(
        notBefore: .zero, atMost: rest, on: MultiThreadedEventLoopGroup.singleton.next())
      if Task.isCancelled { return false }
    }
    await abandonDecoding()
    return true
  }

  /// Whether the decoder may have to wait for a disk.
  private var mayAwaitDisk: Bool {
    outputs.contains { $0.holdsFarEnd && $0.format.inputs.needDecoding && $0.lane.isFile }
  }

  /// Says whether somebody waits for what comes, so that nothing gathers meanwhile, whatever
  /// ``Configuration/gatheringTime`` says; from any thread.
  public func attend(_ isAttended: Bool) { connections.attend(isAttended) }

  private func abandonDecoding() async {
    distribution.abandonDecoding()
    distribution.endSequences()
    // The decoder may be waiting for a reader that has stalled, and there is no more time for it.
    await finishOutputs(within: OutputLane.longestFinish)
  }

  /// Ends all outputs at once, each after a whole frame, without writing what still waits; from any
  /// thread.
  public func abandon() async { _ = await finishOutputs(within: .zero) }

  /// Ends all outputs in parallel, because they share the time to finish.
  @discardableResult
  private func finishOutputs(within time: Duration?) async -> [Int: OutputSummary] {
    await withTaskGroup(of: (Int, OutputSummary).self) { group in
      for (index, output) in outputs.enumerated() {
        group.addTask { (index, await output.lane.finish(within: time)) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  /// A snapshot of every stage, during or after the run.
  public func status() async -> Status {
    let (transport, stream) = await connections.counters()
    return Status(
      connection: connections.status(at: .now), transport: transport, stream: stream,
      delivery: distribution.statistics, playout: playout?.statistics,
      outputs: outputs.map {
        OutputStatus(
          name: $0.name, format: $0.format.name, counters: $0.lane.counters,
          figures: $0.lane.figures, events: $0.lane.events, stall: $0.lane.stall,
          awaitsReader: $0.lane.awaitsReader, fault: $0.lane.fault)
      })
  }

  /// Returns once something that ``status()`` may show has happened since the last return, or when
  /// `patience` is over.
  ///
  /// It never returns before `rest` is over, unless a connection has ended or begun, there is news
  /// of an output's files, or the task is cancelled. One task at a time may wait.
  public func waitForActivity(
    notBefore rest: Duration = .zero, atMost patience: Duration
  ) async {
    await connections.waitForActivity(notBefore: rest, atMost: patience)
  }
}

extension Receiver {
  /// The counters of every stage, in totals over all connections.
  public struct Status: Sendable {
    /// The connections of the run, and what it missed between them.
    public let connection: ConnectionStatus
    /// The transports' own counters.
    public let transport: TransportCounters
    /// The counters of the sessions and their tracks; `nil` once the event loop is gone.
    public let stream: StreamStatus?
    /// Access units, frames and sound that were handed on.
    public let delivery: DeliveryStatistics
    /// What pacing did; `nil` unless outputs are paced.
    public let playout: PlayoutClock.Statistics?
    /// The outputs, in the order of ``Receiver/Configuration/outputs``.
    public let outputs: [OutputStatus]
  }

  /// How a run ended, and its final totals.
  public struct Report: Sendable {
    /// Why the run ended.
    public let reason: EndReason
    /// The final counters.
    public let status: Status
    /// Whether what was still to be decoded at the end was given up, because an output or the
    /// decoder was stuck.
    public let isCutShort: Bool
    /// What each output came to, in the order of ``Receiver/Configuration/outputs``.
    public let outputs: [OutputReport]
  }
}
