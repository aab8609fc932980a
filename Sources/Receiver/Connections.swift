import NIOCore
import RTPWire
import Reception
import Synchronization
import Transports

/// The connections of a run, one after another: opens each, waits for its end, and decides whether
/// to connect again.
///
/// Everything arrives as an event, so the run can end at any moment, even when nothing is open.
final class Connections: Sendable {
  enum Event: Sendable {
    /// The run is over: nothing more is wanted, or nothing more can be done.
    case runEnded(EndReason)
    /// Media has begun to come on a connection.
    case mediaBegan(connection: Int, at: Instant)
    case connectionEnded(Int, EndReason)
    /// It is time to connect again after this connection.
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
    /// The counters of all previous transports.
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

  /// - Throws: `UnsupportedFormat` when the media is described as something other than video of a
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
    let driver = try Self.driver(
      of: transport, number: 0, configuration, events, distribution, activity, after: nil)
    state = Mutex(
      State(
        connection: Connection(number: 0, transport: transport, driver: driver),
        outages: OutageLog(runStart: .now)))
  }

  /// Connects, and reconnects if configured, until something ends the run.
  func run() async -> EndReason {
    let now = Instant.now
    let first = state.withLock { state in
      state.outages = OutageLog(runStart: now)
      return state.connection
    }
    first.driver.open(startingRunAt: now)
    let reason = await receive()
    _ = await end(state.withLock(\.connection))
    return reason
  }

  /// Ends the run, from any thread.
  func stop() {
    let connection = state.withLock { state in
      state.isStopped = true
      return state.connection
    }
    events.continuation.yield(.runEnded(.stopped))
    connection.driver.hurry()
  }

  /// Notes everything that happens to a connection.
  let activity = Activity()

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
    var remains: Reception?
    for await event in events.stream {
      let connection = state.withLock(\.connection)
      switch event {
      case .runEnded(let reason):
        return await self.reason(for: reason, after: connection)
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
        guard case .retry(let time) = decision, let remains else { return reason }
        distribution.endConnection()
        wait(until: time, remains, after: connection, because: reason)
      case .retryDue(connection.number):
        guard let former = remains else { continue }
        do {
          try await openNext(after: connection, former)
        } catch {
          return .cannotOpen(error)
        }
      case .mediaBegan, .connectionEnded, .retryDue:
        // A previous connection's.
        continue
      }
    }
    return .stopped
  }

  /// Why a stopped run ends: if nothing else came, the unusable media that did.
  private func reason(for end: EndReason, after connection: Connection) async -> EndReason {
    guard case .stopped = end else { return end }
    return (try? await connection.driver.unusableMedia()) ?? end
  }

  private func openNext(after connection: Connection, _ remains: Reception) async throws {
    let counters = await connection.transport.counters().added(
      to: state.withLock(\.formerCounters))
    let number = connection.number + 1
    let transport = try makeTransport(counters)
    let driver = try Self.driver(
      of: transport, number: number, configuration, events, distribution, activity, after: remains)
    let isStopped = state.withLock { state in
      state.formerCounters = counters
      state.connection = Connection(number: number, transport: transport, driver: driver)
      state.outages.noteAttempt()
      state.retryAt = nil
      return state.isStopped
    }
    if isStopped { driver.hurry() }
    driver.open()
    activity.note()
  }

  /// Wakes the run when the next connection is due, or when the run ends before that.
  private func wait(
    until time: Instant, _ remains: Reception, after connection: Connection,
    because reason: EndReason
  ) {
    state.withLock { state in
      state.outages.connectionEnded(because: reason, lastMedia: remains.lastMediaOfRun)
      state.failure = reason
      state.retryAt = time
    }
    activity.note()
    var event = Event.retryDue(after: connection.number)
    var due = time
    if let ending = remains.runEnding, ending.at <= time {
      due = ending.at
      event = .runEnded(ending.reason)
    }
    let delay = TimeAmount.nanoseconds(max(0, Instant.now.nanoseconds(to: due)))
    connection.transport.eventLoop.scheduleTask(in: delay) { [events, event] in
      events.continuation.yield(event)
    }
  }

  /// Ends `connection` normally; `nil` when its event loop is gone.
  private func end(_ connection: Connection) async -> Reception? {
    let remains = try? await connection.driver.finish()
    connection.transport.close()
    return remains
  }

  private static func driver(
    of transport: any RTPTransport, number: Int, _ configuration: Receiver.Configuration,
    _ events: Events, _ distribution: Distribution, _ activity: Activity,
    after former: Reception?
  ) throws -> StreamDriver {
    let continuation = events.continuation
    let surroundings = StreamDriver.Surroundings(
      deliver: { distribution.deliver($0) },
      isCrowded: { distribution.isCrowded },
      whenRoom: { distribution.whenRoom($0) },
      mediaBegan: { continuation.yield(.mediaBegan(connection: number, at: $0)) },
      end: { end in
        switch end {
        case .run(let reason): continuation.yield(.runEnded(reason))
        case .connection(let reason): continuation.yield(.connectionEnded(number, reason))
        }
      }, activity: activity)
    let carrier = Reception.Carrier(
      time: Pace(of: transport.clock).time, isPassive: transport.isPassive,
      longestSilence: transport.longestSilence)
    let reception = try Reception(
      configuration.reception, on: carrier, after: former,
      randomness: SystemRandomNumberGenerator(), at: .now)
    return StreamDriver(reception, for: transport, in: surroundings)
  }
}
