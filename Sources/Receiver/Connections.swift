import BlockingIO
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
    /// A connection is open, and media may come.
    case connectionOpened(Int)
    /// Media has begun to come on a connection.
    case mediaBegan(connection: Int, at: Instant)
    /// Another sender has gone on with the media on a connection, after a gap.
    case senderCame(connection: Int, at: Instant, after: Instant)
    case connectionEnded(Int, EndReason)
    /// It is time to connect again after this connection.
    case retryDue(after: Int)
  }

  typealias Events = (stream: AsyncStream<Event>, continuation: AsyncStream<Event>.Continuation)

  private struct State: Sendable {
    var connection: StreamDriver
    /// What the transports before the current one have counted.
    var formerCounters = TransportCounters()
    var outages: OutageLog
    /// Why the last connection failed, until media comes again.
    var failure: EndReason?
    var retryAt: Instant?
    var isOpen = false
    var isStopped = false
    /// Whether somebody waits for what comes.
    var isAttended = false
  }

  private let configuration: Receiver.Configuration
  private let makeTransport: Receiver.TransportFactory
  private let events: Events
  private let surroundings: StreamDriver.Surroundings
  private let state: Mutex<State>

  /// Prepares the first connection; `tasks` runs what opens it and those that follow, and
  /// `activity` is told of what happens.
  ///
  /// - Throws: `UnsupportedFormat` when the media is described as something else than video of a
  ///   known codec.
  init(
    _ configuration: Receiver.Configuration, first transport: any RTPTransport,
    then makeTransport: @escaping Receiver.TransportFactory, events: Events,
    delivering distribution: Distribution, noting activity: Activity, on tasks: TaskQueue
  ) throws {
    self.configuration = configuration
    self.makeTransport = makeTransport
    self.events = events
    surroundings = StreamDriver.Surroundings(
      distribution: distribution,
      tell: { [continuation = events.continuation] in
        continuation.yield($0)
      }, activity: activity, tasks: tasks)
    let carrier = Reception.Carrier(transport)
    let reception = try Reception(
      configuration.reception(on: carrier), on: carrier,
      randomness: SystemRandomNumberGenerator(), at: .now)
    let driver = StreamDriver(reception, number: 0, on: transport, in: surroundings)
    state = Mutex(State(connection: driver, outages: OutageLog(runStart: .now)))
  }

  /// Connects, and reconnects if configured, until something ends the run.
  func run() async -> EndReason {
    let now = Instant.now
    let first = state.withLock { state in
      state.outages = OutageLog(runStart: now)
      return state.connection
    }
    first.open(startingRunAt: now)
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
    connection.hurry()
  }

  /// Says whether somebody waits for what comes, from any thread.
  func attend(_ isAttended: Bool) {
    let connection = state.withLock { state in
      state.isAttended = isAttended
      return state.connection
    }
    connection.attend(isAttended)
  }

  /// Returns as ``Activity/wait(notBefore:atMost:on:)`` does, when anything has happened on a
  /// connection or to it.
  func waitForActivity(notBefore rest: Duration, atMost patience: Duration) async {
    let eventLoop = state.withLock(\.connection.transport.eventLoop)
    await surroundings.activity.wait(notBefore: rest, atMost: patience, on: eventLoop)
  }

  func status(at now: Instant) -> ConnectionStatus {
    state.withLock { state in
      let wait = state.retryAt.map { ConnectionStatus.Phase.waiting(now.duration(to: $0)) }
      return ConnectionStatus(
        phase: wait ?? .connected, isOpen: state.isOpen, failure: state.failure,
        statistics: state.outages.statistics(at: now))
    }
  }

  /// The totals of all transports, and the state of the stream.
  func counters() async -> (TransportCounters, StreamStatus?) {
    let (connection, former) = state.withLock { ($0.connection, $0.formerCounters) }
    let counters = await connection.transport.counters()
    return (counters.added(to: former), try? await connection.ask { $0.status })
  }

  private func receive() async -> EndReason {
    var schedule = configuration.reconnection.map {
      ReconnectSchedule($0, randomness: SystemRandomNumberGenerator())
    }
    var remains: FormerSession?
    for await event in events.stream {
      let connection = state.withLock(\.connection)
      switch event {
      case .runEnded(let reason):
        return await self.reason(for: reason, after: connection)
      case .connectionOpened(connection.number):
        // One that has ended at once says so late.
        state.withLock { state in
          if state.retryAt == nil { state.isOpen = true }
        }
        surroundings.activity.alert()
      case .mediaBegan(connection.number, let time):
        state.withLock { state in
          state.outages.mediaCame(at: time)
          state.failure = nil
        }
      case .senderCame(connection.number, let time, let last):
        state.withLock { $0.outages.senderCame(at: time, after: last) }
      case .connectionEnded(connection.number, let reason)
      where reason.continuesInAnotherConnection && !configuration.connectsOnce:
        guard let former = await end(connection) else { return reason }
        remains = former
        surroundings.distribution.endConnection()
        events.continuation.yield(.retryDue(after: connection.number))
      case .connectionEnded(connection.number, let reason):
        guard schedule != nil else { return reason }
        remains = await end(connection)
        let decision = schedule?.connectionEnded(
          at: .now, after: remains?.reception.flow ?? .zero,
          fault: reason.fault(given: configuration.stream.media))
        guard case .retry(let time) = decision, let remains else { return reason }
        surroundings.distribution.endConnection()
        wait(until: time, remains, after: connection, because: reason)
      case .retryDue(connection.number):
        guard let former = remains else { continue }
        do {
          try await openNext(after: connection, former)
        } catch {
          return .cannotOpen(error)
        }
      case .connectionOpened, .mediaBegan, .senderCame, .connectionEnded, .retryDue:
        // A previous connection's.
        continue
      }
    }
    return .stopped
  }

  /// Why the run ends where it is stopped: what came that is of no use, if nothing else did.
  private func reason(for end: EndReason, after connection: StreamDriver) async -> EndReason {
    guard case .stopped = end else { return end }
    return (try? await connection.ask { $0.unusableMedia }) ?? end
  }

  private func openNext(after connection: StreamDriver, _ remains: FormerSession) async throws {
    let counters = await connection.transport.counters().added(
      to: state.withLock(\.formerCounters))
    let transport = try makeTransport(counters)
    let carrier = Reception.Carrier(transport)
    let reception = try Reception(
      configuration.reception(on: carrier), on: carrier, after: remains.reception,
      randomness: SystemRandomNumberGenerator(), at: .now)
    let driver = StreamDriver(
      reception, number: connection.number + 1, on: transport, in: surroundings)
    let (isStopped, isAttended) = state.withLock { state in
      state.formerCounters = counters
      state.connection = driver
      state.outages.noteAttempt()
      state.retryAt = nil
      return (state.isStopped, state.isAttended)
    }
    if isStopped { driver.hurry() }
    if isAttended { driver.attend(true) }
    driver.open()
    surroundings.activity.alert()
  }

  /// Wakes the run when the next connection is due, or when the run ends before that.
  private func wait(
    until time: Instant, _ remains: FormerSession, after connection: StreamDriver,
    because reason: EndReason
  ) {
    state.withLock { state in
      state.outages.connectionEnded(
        because: reason, fault: reason.fault(given: configuration.stream.media),
        lastMedia: remains.reception.lastMediaOfRun)
      state.failure = reason
      state.isOpen = false
      state.retryAt = time
    }
    surroundings.activity.alert()
    var event = Event.retryDue(after: connection.number)
    var due = time
    if let ending = remains.reception.runEnding, ending.at <= time {
      due = ending.at
      event = .runEnded(ending.reason)
    }
    let delay = TimeAmount.nanoseconds(max(0, Instant.now.nanoseconds(to: due)))
    connection.transport.eventLoop.scheduleTask(in: delay) { [events, event] in
      events.continuation.yield(event)
    }
  }

  /// Ends `connection` in order; `nil` when its event loop is gone.
  private func end(_ connection: StreamDriver) async -> FormerSession? {
    let remains = try? await connection.finish()
    connection.transport.close()
    return remains
  }
}
