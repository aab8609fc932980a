import NIOCore
import RTPWire
import Synchronization
import Transports

/// The connections of a run, one after the other: opens each, waits for its end, and decides whether
/// there is to be another.
///
/// Whatever happens comes as an event, so that the run can end at any moment, also while nothing is
/// open.
final class Connections: Sendable {
  enum Event: Sendable {
    /// Nothing more is wanted, or nothing more can be done with what comes.
    case runEnded(EndReason)
    /// Media has begun to come on a connection.
    case mediaBegan(connection: Int, at: Instant)
    case connectionEnded(Int, EndReason)
    /// It is time for the connection that follows this one.
    case retryDue(after: Int)
  }

  typealias Events = (stream: AsyncStream<Event>, continuation: AsyncStream<Event>.Continuation)

  private struct Connection: Sendable {
    var number: Int
    var transport: any RTPTransport
    var driver: StreamDriver
  }

  private struct State: Sendable {
    var connection: Connection
    /// What the transports before the current one have counted.
    var formerCounters = TransportCounters()
    var outages: OutageLog
    /// Why the last connection failed, until media comes again.
    var failure: EndReason?
    var retryAt: Instant?
    var isStopped = false
  }

  private let configuration: Receiver.Configuration
  private let makeTransport: Receiver.TransportFactory
  private let events: Events
  private let distribution: Distribution
  private let state: Mutex<State>

  /// - Throws: `UnsupportedFormat` when the media is described as something else than video of a
  ///   known codec.
  init(
    _ configuration: Receiver.Configuration, first transport: any RTPTransport,
    then makeTransport: @escaping Receiver.TransportFactory, events: Events,
    delivering distribution: Distribution
  ) throws {
    self.configuration = configuration
    self.makeTransport = makeTransport
    self.events = events
    self.distribution = distribution
    let driver = try StreamDriver(
      Self.setup(configuration, 0, transport, events, distribution), for: transport,
      clock: RunClock(of: configuration, by: transport.clock, at: .now), after: nil)
    state = Mutex(
      State(
        connection: Connection(number: 0, transport: transport, driver: driver),
        outages: OutageLog(runStart: .now)))
  }

  /// Connects, and again where that is wanted, until something ends the run.
  func run() async -> EndReason {
    let now = Instant.now
    let first = state.withLock { state in
      state.outages = OutageLog(runStart: now)
      return state.connection
    }
    first.driver.startRun(at: now)
    first.driver.open()
    let reason = await receive()
    _ = await end(state.withLock(\.connection))
    return reason
  }

  /// Ends the run, from any thread.
  func stop() {
    state.withLock { $0.isStopped = true }
    events.continuation.yield(.runEnded(.stopped))
  }

  /// Whether ``stop()`` was called.
  var isStopped: Bool { state.withLock(\.isStopped) }

  func status(at now: Instant) -> ConnectionStatus {
    state.withLock { state in
      let wait = state.retryAt.map { ConnectionStatus.Phase.waiting(now.duration(to: $0)) }
      return ConnectionStatus(
        phase: wait ?? .connected, failure: state.failure,
        statistics: state.outages.statistics(at: now))
    }
  }

  /// The totals of all transports, and the state of the stream.
  func counters() async -> (TransportCounters, StreamStatus?) {
    let (connection, former) = state.withLock { ($0.connection, $0.formerCounters) }
    let counters = await connection.transport.counters()
    return (counters.added(to: former), try? await connection.driver.status())
  }

  private func receive() async -> EndReason {
    var schedule = configuration.reconnection.map {
      ReconnectSchedule($0, randomness: SystemRandomNumberGenerator())
    }
    var remains: StreamDriver.Remains?
    for await event in events.stream {
      let connection = state.withLock(\.connection)
      switch event {
      case .runEnded(let reason):
        return reason
      case .mediaBegan(connection.number, let time):
        state.withLock { state in
          state.outages.mediaCame(at: time)
          state.failure = nil
        }
      case .connectionEnded(connection.number, let reason):
        guard schedule != nil else { return reason }
        remains = await end(connection)
        let decision = schedule?.connectionEnded(
          at: .now, after: remains?.flow ?? .zero, fault: reason.fault)
        guard case .retry(let time) = decision, let clock = remains?.clock else { return reason }
        distribution.endConnection()
        wait(until: time, clock: clock, after: connection, because: reason)
      case .retryDue(connection.number):
        guard let former = remains else { continue }
        do {
          try await openNext(after: connection, former)
        } catch {
          return .cannotOpen(error)
        }
      case .mediaBegan, .connectionEnded, .retryDue:
        // Of a connection that is over.
        continue
      }
    }
    return .stopped
  }

  private func openNext(
    after connection: Connection, _ remains: StreamDriver.Remains
  ) async throws {
    let counters = await connection.transport.counters().added(
      to: state.withLock(\.formerCounters))
    let number = connection.number + 1
    let transport = try makeTransport(counters)
    let driver = try StreamDriver(
      Self.setup(configuration, number, transport, events, distribution), for: transport,
      clock: remains.clock, after: remains.stream)
    state.withLock { state in
      state.formerCounters = counters
      state.connection = Connection(number: number, transport: transport, driver: driver)
      state.outages.noteAttempt()
      state.retryAt = nil
    }
    driver.open()
  }

  /// Has the run woken when the next connection is due, or when the run is over before that.
  private func wait(
    until time: Instant, clock: RunClock, after connection: Connection,
    because reason: EndReason
  ) {
    state.withLock { state in
      state.outages.connectionEnded(because: reason, lastMedia: clock.lastMedia)
      state.failure = reason
      state.retryAt = time
    }
    var event = Event.retryDue(after: connection.number)
    var due = time
    if let ending = clock.ending, ending.at <= time {
      due = ending.at
      event = .runEnded(ending.reason)
    }
    let delay = TimeAmount.nanoseconds(max(0, Instant.now.nanoseconds(to: due)))
    connection.transport.eventLoop.scheduleTask(in: delay) { [events, event] in
      events.continuation.yield(event)
    }
  }

  /// Ends `connection` in order; `nil` when its event loop is gone.
  private func end(_ connection: Connection) async -> StreamDriver.Remains? {
    let remains = try? await connection.driver.finish(unless: { self.isStopped })
    connection.transport.close()
    return remains
  }

  private static func setup(
    _ configuration: Receiver.Configuration, _ number: Int, _ transport: any RTPTransport,
    _ events: Events, _ distribution: Distribution
  ) -> StreamDriver.Setup {
    let continuation = events.continuation
    var setup = StreamDriver.Setup(
      stream: configuration.stream,
      deliver: { distribution.deliver($0) },
      isCrowded: { distribution.isCrowded },
      mediaBegan: { continuation.yield(.mediaBegan(connection: number, at: $0)) },
      end: { end in
        switch end {
        case .run(let reason): continuation.yield(.runEnded(reason))
        case .connection(let reason): continuation.yield(.connectionEnded(number, reason))
        }
      })
    // A recording has no pauses that anybody would have to wait through, and goes on behind a goodbye.
    guard transport.clock == .monotonic else {
      setup.endsWithGoodbye = false
      return setup
    }
    // A listener has nothing to connect to: it waits for the next sender where it is.
    guard !transport.isPassive else {
      setup.endsWithGoodbye = configuration.reconnection == nil
      return setup
    }
    // A transport that watches for itself knows more of the reasons, and is given the time to tell.
    setup.silence = transport.longestSilence.map { $0 * 2 } ?? configuration.reconnection?.silence
    return setup
  }
}
