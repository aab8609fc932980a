import Bitstream
public import Decode
public import Defragment
import NIOPosix
import Outputs
import RTPWire
public import Reception
import Synchronization
public import Transports

/// Receives one stream and delivers it to sequences, outputs and closures, until its end.
///
/// ```swift
/// let receiver = try Receiver("rtsp://camera/stream")
/// for await frame in receiver.frames(.latest) {
///   print(frame.width, frame.height, frame.time.seconds)
/// }
/// print(await receiver.run().reason)
/// ```
///
/// With ``Configuration/reconnection``, a run has several connections one after the other: decoder
/// and outputs go on, and ``ConnectionStatus`` tells what was missed between them.
public final class Receiver: Sendable {
  /// What is known of the stream, what is wanted of it, and when it is over.
  public struct Configuration: Sendable {
    /// The description of the media and the reorder window.
    public var stream = VideoStream.Configuration()
    /// Where frames and access units are written.
    public var outputs: [OutputRequest] = []
    /// Pictures of another size than the first are scaled to it where an output cannot change.
    public var scalesToFirst = false
    /// What becomes of pictures that are not intact.
    public var lossTreatment = LossTreatment.conceal
    /// Whether each frame interval of the media gets exactly one frame, whatever was lost.
    ///
    /// Nothing is dropped for a slow reader then: it makes the decoder wait, and what that loses is
    /// filled up like any other loss.
    public var constantRate = false
    /// Ends the run after so many frames, or access units when nothing is decoded.
    public var frameLimit: UInt64?
    /// Ends the run so long after the first packet of media.
    public var duration: Duration?
    /// How long the first media may take, opening included; `nil` waits for ever.
    public var firstMediaTimeout: Duration? = .seconds(10)
    /// How long media may pause, over reconnections too; `nil` waits for ever.
    public var silenceTimeout: Duration? = .seconds(10)
    /// How to connect again when a connection ends or cannot be opened; `nil` ends the run then.
    public var reconnection: Reconnection?
    /// Whether every frame is reported by ``Receiver/takeFrames()``.
    public var recordsFrames = false
    /// Called with every access unit on the transport's event loop; must return soon.
    public var onAccessUnit: (@Sendable (AccessUnit) -> Void)?
    /// Called with every frame on the decoder's thread; the decoder waits meanwhile.
    public var onFrame: (@Sendable (RawFrame) -> Void)?

    public init() {}

    /// What is decided for each connection.
    var reception: Reception.Configuration {
      var reception = Reception.Configuration()
      reception.stream = stream
      reception.firstMediaTimeout = firstMediaTimeout
      reception.silenceTimeout = silenceTimeout
      reception.duration = duration
      reception.reconnectionSilence = reconnection?.silence
      return reception
    }

    /// Whether a closure or an output wants frames.
    var wantsFrames: Bool { onFrame != nil || outputs.contains { $0.format.input == .frames } }

    /// Whether a closure or an output wants anything.
    var wantsAnything: Bool { wantsFrames || onAccessUnit != nil || !outputs.isEmpty }
  }

  /// Makes a transport, knowing what those before it have counted.
  public typealias TransportFactory =
    @Sendable (_ former: TransportCounters?) throws -> any RTPTransport

  /// How long the decoder may take to do so once ``stop()`` was called.
  static let decodingTime: Duration = .milliseconds(700)

  private let configuration: Configuration
  private let pace: Pace
  private let outputs: [RunningOutput]
  private let distribution: Distribution
  private let connections: Connections
  /// The run, once it was started.
  private let running = Mutex<Task<Report, Never>?>(nil)

  /// Prepares a run that receives from `transport` and from nothing else.
  ///
  /// A transport opens once, so ``Configuration/reconnection`` has no use here.
  ///
  /// - Throws: as ``init(configuration:transport:)`` does.
  public convenience init(
    transport: any RTPTransport, configuration: Configuration
  ) throws {
    var configuration = configuration
    configuration.reconnection = nil
    try self.init(configuration: configuration) { _ in transport }
  }

  /// Prepares a run; one transport is made, and nothing is opened yet.
  ///
  /// - Parameters:
  ///   - configuration: what is wanted.
  ///   - makeTransport: makes a transport for each connection; from the second on it is given what
  ///     those before have counted.
  /// - Throws: what `makeTransport` throws; `UnsupportedFormat` when the media is described as
  ///   something else than video of a known codec; `ThreadError` when an output cannot be started.
  public init(
    configuration: Configuration,
    transport makeTransport: @escaping TransportFactory
  ) throws {
    self.configuration = configuration
    let events = AsyncStream.makeStream(of: Connections.Event.self)
    let end: @Sendable (EndReason) -> Void = { events.continuation.yield(.runEnded($0)) }
    let transport = try makeTransport(nil)
    let pace = Pace(of: transport.clock)
    self.pace = pace
    let living = Mutex(configuration.outputs.count)
    outputs = try configuration.outputs.map { request in
      var setup = OutputLane.Configuration(target: request.target, format: request.format)
      // Units come on the event loop, which waits for nobody; it has the far end wait instead.
      let policy = pace.policy(configuration.constantRate ? .block : request.policy)
      setup.policy = request.format.input == .units ? .dropOldest : policy
      setup.scaleToFirst = configuration.scalesToFirst
      let lane = try OutputLane(setup) { _ in
        // The run goes on as long as there is one output left to write to.
        if living.withLock({ count in
          count -= 1; return count == 0
        }) {
          end(.outputsEnded)
        }
      }
      return RunningOutput(
        name: request.name, format: request.format, policy: policy, lane: lane)
    }
    distribution = Distribution(
      configuration: configuration, pace: pace, outputs: outputs, end: end)
    connections = try Connections(
      configuration, first: transport, then: makeTransport, events: events,
      delivering: distribution)
  }

  /// Prepares a run that receives from `source`, a URL or a file, as the command line takes it.
  ///
  /// - Parameters:
  ///   - source: such as `rtsp://camera/stream`, `rtp://:5004`, or a recording.
  ///   - configuration: what is wanted beside what is iterated over.
  ///   - transports: where the source is looked up.
  ///   - options: what the transports are to do.
  /// - Throws: what is wrong with the source, and as ``init(configuration:transport:)`` does.
  public convenience init(
    _ source: String, configuration: Configuration = Configuration(),
    transports: TransportCatalogue = .standard, options: TransportOptions = TransportOptions()
  ) throws {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    try self.init(configuration: configuration) { _ in
      try transports.make(source: source, options: options, on: eventLoop)
    }
  }

  /// The frames, as they come out of the decoder; whoever asks before the run begins has all of
  /// them.
  ///
  /// - Parameter pressure: what becomes of those that come while the loop's body is busy.
  /// - Returns: a sequence for one loop.
  public func frames(_ pressure: BackPressure = .everyOne) -> Received<RawFrame> {
    let handover = Handover<RawFrame>(pressure)
    distribution.deliver(framesTo: handover)
    return Received(receiver: self, handover: handover)
  }

  /// The access units, as they come off the network; where nobody wants frames, nothing is decoded.
  ///
  /// - Parameter pressure: what becomes of those that come while the loop's body is busy.
  /// - Returns: a sequence for one loop.
  public func accessUnits(_ pressure: BackPressure = .everyOne) -> Received<AccessUnit> {
    let handover = Handover<AccessUnit>(pressure)
    distribution.deliver(unitsTo: handover)
    return Received(receiver: self, handover: handover)
  }

  /// Begins the run where it has not begun.
  @discardableResult
  func start() -> Task<Report, Never> {
    running.withLock { running in
      if let running { return running }
      let task = Task { await receive() }
      running = task
      return task
    }
  }

  /// Receives until something ends the run, and tells how it ended; all callers are told the same.
  ///
  /// What is in flight then is still decoded and written, within about two seconds.
  public func run() async -> Report { await start().value }

  private func receive() async -> Report {
    var reason = await connections.run()
    await distribution.finishDecoding()
    // The last pictures of a stream that reorders them come out when it has ended.
    if distribution.isComplete { reason = .framesReached }
    distribution.endSequences()
    let summaries = await finishOutputs(within: pace.finishingTime)
    return Report(
      reason: reason, status: await status(),
      outputs: outputs.enumerated().map { index, output in
        OutputReport(name: output.name, summary: summaries[index])
      })
  }

  /// Ends the run in an orderly way, within three seconds, from any thread.
  public func stop() {
    connections.stop()
    Task { [self] in
      try? await Task.sleep(for: Self.decodingTime)
      distribution.abandonDecoding()
      distribution.endSequences()
      // The decoder may be waiting for a reader that does not read, for which there is no more
      // time.
      await finishOutputs(within: OutputLane.longestFinish)
    }
  }

  /// Ends all outputs at once, each on a whole frame, whatever still waits; from any thread.
  public func abandon() async { _ = await finishOutputs(within: .zero) }

  /// Ends all outputs at once, since the time to finish is for all of them together.
  @discardableResult
  private func finishOutputs(within time: Duration?) async -> [Int: OutputSummary] {
    await withTaskGroup(of: (Int, OutputSummary).self) { group in
      for (index, output) in outputs.enumerated() {
        group.addTask { (index, await output.lane.finish(within: time)) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  /// What the run has been through so far, or went through, in every stage.
  public func status() async -> Status {
    let (transport, stream) = await connections.counters()
    return Status(
      connection: connections.status(at: .now), transport: transport, stream: stream,
      delivery: distribution.statistics,
      outputs: outputs.map { OutputStatus(name: $0.name, counters: $0.lane.counters) })
  }

  /// Returns when something that may show in ``status()`` has happened since it last returned, or
  /// when `patience` is over.
  ///
  /// One task at a time may wait.
  public func waitForActivity(atMost patience: Duration) async {
    await connections.activity.wait(atMost: patience)
  }

  /// The frames since this was last called, where ``Configuration/recordsFrames`` is set; of access
  /// units when nothing is decoded.
  public func takeFrames() -> FrameLog { distribution.takeFrames() }
}

extension Receiver {
  /// The counters of every stage, in totals over all connections.
  public struct Status: Sendable {
    public let connection: ConnectionStatus
    public let transport: TransportCounters
    /// `nil` once the event loop is gone.
    public let stream: StreamStatus?
    public let delivery: DeliveryStatistics
    public let outputs: [OutputStatus]
  }

  /// How a run ended, and what it had come to by then.
  public struct Report: Sendable {
    public let reason: EndReason
    public let status: Status
    public let outputs: [OutputReport]
  }
}
