public import Decode
public import Defragment
import Synchronization
public import Transports

/// Receives one stream from a transport and delivers it to outputs and closures, until its end.
///
/// ```swift
/// var configuration = Receiver.Configuration()
/// configuration.onFrame = { frame in print(frame.width, frame.height, frame.time.seconds) }
/// let receiver = try Receiver(transport: transport, configuration: configuration)
/// let report = await receiver.run()
/// ```
public final class Receiver: Sendable {
  /// What is known of the stream, what is wanted of it, and when it is over.
  public struct Configuration: Sendable {
    /// The description of the media and the reorder window.
    public var stream = VideoStream.Configuration()
    /// Where frames and access units are written.
    public var outputs: [OutputRequest] = []
    /// Pictures of another size than the first are scaled to it where an output cannot change.
    public var scalesToFirst = false
    /// Ends the run after so many frames, or access units when nothing is decoded.
    public var frameLimit: UInt64?
    /// Ends the run so long after the first packet of media.
    public var duration: Duration?
    /// How long the first media may take; `nil` waits for ever.
    public var firstMediaTimeout: Duration? = .seconds(10)
    /// How long media may pause; `nil` waits for ever.
    public var silenceTimeout: Duration? = .seconds(10)
    /// Makes another transport like the first, on the same event loop, after which the run goes on
    /// when the stream breaks off; `nil` ends the run then.
    public var reconnecting: (@Sendable () throws -> any RTPTransport)?
    /// Called with every access unit on the transport's event loop; must return soon.
    public var onAccessUnit: (@Sendable (AccessUnit) -> Void)?
    /// Called with every frame on the decoder's thread; the decoder waits meanwhile.
    public var onFrame: (@Sendable (RawFrame) -> Void)?

    public init() {}

    /// Whether anybody wants frames: then, and when nobody wants anything, the stream is decoded.
    var decodes: Bool {
      onFrame != nil || outputs.contains { $0.format.input == .frames }
        || (outputs.isEmpty && onAccessUnit == nil)
    }
  }

  /// How long outputs and decoder may take to finish what they have begun.
  static let finishingTime: Duration = .seconds(2)

  private let configuration: Configuration
  private let connection: Connection
  private let outputs: [RunningOutput]
  private let driver: StreamDriver
  private let distribution: Distribution
  private let events: AsyncStream<RunEvent>
  private let event: AsyncStream<RunEvent>.Continuation

  /// Prepares a run; nothing is opened yet.
  ///
  /// - Throws: `UnsupportedFormat` when the media is described as something else than video of a
  ///   known codec; `ThreadError` when an output can not be started.
  public init(transport: any RTPTransport, configuration: Configuration) throws {
    self.configuration = configuration
    let (events, event) = AsyncStream.makeStream(of: RunEvent.self)
    self.events = events
    self.event = event
    let end: @Sendable (EndReason) -> Void = { event.yield(.end($0)) }
    let living = Mutex(configuration.outputs.count)
    outputs = try configuration.outputs.map { request in
      var setup = OutputLane.Configuration(target: request.target, format: request.format)
      setup.policy = request.policy
      setup.scaleToFirst = configuration.scalesToFirst
      let lane = try OutputLane(setup) { _ in
        // The run goes on as long as there is one output left to write to.
        if living.withLock({ count in
          count -= 1; return count == 0
        }) {
          end(.outputsEnded)
        }
      }
      return RunningOutput(name: request.name, format: request.format, lane: lane)
    }
    let distribution = Distribution(
      configuration: configuration, outputs: outputs, end: end)
    self.distribution = distribution
    driver = try StreamDriver(
      configuration: configuration.stream, eventLoop: transport.eventLoop,
      patience: StreamDriver.Patience(
        forFirstMedia: configuration.firstMediaTimeout,
        forMoreMedia: configuration.silenceTimeout, forEverything: configuration.duration),
      deliver: { distribution.deliver($0) }, end: end)
    connection = Connection(first: transport, driver: driver)
  }

  /// Opens the transport and receives until something ends the run; call it once.
  ///
  /// What is in flight then is still decoded and written, within about two seconds.
  public func run() async -> Report {
    let reason = await receive()
    connection.close()
    try? await driver.finish()
    await distribution.finishDecoding()
    // All at once: the time to finish is for all of them together.
    let summaries = await withTaskGroup(of: (Int, OutputSummary).self) { group in
      for (index, output) in outputs.enumerated() {
        group.addTask { (index, await output.lane.finish(within: Self.finishingTime)) }
      }
      return await group.reduce(into: [Int: OutputSummary]()) { $0[$1.0] = $1.1 }
    }
    return Report(
      reason: reason, status: await status(),
      outputs: outputs.enumerated().map { index, output in
        OutputReport(name: output.name, summary: summaries[index])
      })
  }

  /// Ends the run in an orderly way, from any thread.
  public func stop() { event.yield(.end(.stopped)) }

  /// Ends all outputs at once, each on a whole frame, whatever still waits; from any thread.
  public func abandon() async {
    await withTaskGroup(of: Void.self) { group in
      for output in outputs { group.addTask { _ = await output.lane.finish(within: .zero) } }
    }
  }

  /// What the run has been through so far, or went through, in every stage.
  public func status() async -> Status {
    Status(
      transport: await connection.counters(), connection: connection.status,
      stream: try? await driver.status(),
      delivery: distribution.statistics,
      outputs: outputs.map { OutputStatus(name: $0.name, counters: $0.lane.counters) })
  }

  private func receive() async -> EndReason {
    var events = events.makeAsyncIterator()
    var schedule = ReconnectSchedule()
    while true {
      var reason: EndReason
      do {
        try await connection.open()
        guard case .end(let end)? = await events.next() else { return .stopped }
        reason = end
      } catch {
        reason = .cannotOpen(error)
      }
      guard let makeTransport = configuration.reconnecting, let fault = reason.fault else {
        return reason
      }
      schedule.noteMedia(for: await connection.timeOfMedia())
      guard
        let wait = schedule.wait(after: fault, randomness: Double.random(in: 0..<1))
      else { return reason }
      await connection.lose(because: reason, until: wait)
      let waiting = Task { [event] in
        try await Task.sleep(for: wait)
        event.yield(.waited)
      }
      defer { waiting.cancel() }
      waiting: while true {
        switch await events.next() {
        case .waited: break waiting
        // Said by the connection that is no more.
        case .end(let reason) where reason.fault != nil: continue
        case .end(let reason): return reason
        case nil: return .stopped
        }
      }
      do {
        try connection.replace(by: makeTransport())
      } catch {
        return .cannotOpen(error)
      }
    }
  }
}

/// What a run waits for.
enum RunEvent: Sendable {
  case end(EndReason)
  /// The time until the next attempt to connect is over.
  case waited
}

extension Receiver {
  /// The counters of every stage.
  public struct Status: Sendable {
    /// The sums over all connections; what is said of one is said of the current one.
    public let transport: TransportCounters
    public let connection: ConnectionStatus
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
