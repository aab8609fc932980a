import BlockingIO
import NIOCore
import RTPWire
import Reception
import Transports

/// Carries out what a ``Reception`` asks for, on the event loop of its transport.
final class StreamDriver: DatagramSink {
  private struct State {
    var reception: Reception
    var alarm = Alarm()
    var finished: EventLoopPromise<Void>?
  }

  /// How long it takes to read what waits in the kernel.
  private static let readingTime = TimeAmount.milliseconds(10)

  /// The number of its connection in the run.
  let number: Int
  let transport: any RTPTransport
  private let surroundings: Surroundings
  private let state: NIOLoopBoundBox<State>

  init(
    _ reception: Reception, number: Int, on transport: any RTPTransport,
    in surroundings: Surroundings
  ) {
    (self.number, self.transport, self.surroundings) = (number, transport, surroundings)
    state = .makeBoxSendingValue(State(reception: reception), eventLoop: transport.eventLoop)
  }

  /// Opens the transport, and says what comes of that; the first one of a run starts its clocks.
  func open(startingRunAt start: Instant? = nil) {
    // Also sets the alarm for the end of the run, which may come while the transport opens.
    submit { if let start { $0.startRun(at: start) } }
    Task(executorPreference: surroundings.tasks) { [self] in
      do {
        try await transport.open(delivering: self)
        surroundings.tell(.connectionOpened(number))
        submit { [transport] in
          $0.transportOpened(takesReports: transport.takesReports, at: .now)
        }
      } catch {
        submit { $0.openingFailed(error) }
      }
    }
  }

  /// What `question` reads of the session.
  func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (Reception) -> Answer
  ) async throws -> Answer {
    try await transport.eventLoop.submit { [self] in question(state.value.reception) }.get()
  }

  /// Passes on what is still held and sends RTCP BYE; nothing comes out afterwards.
  ///
  /// - Returns: the session, for the next one to follow.
  func finish() async throws -> FormerSession {
    try await transport.eventLoop.flatSubmit { [self] in
      // A run that ends while nothing is open ends the last connection once more.
      let isAsked = state.value.finished != nil
      let finished = state.value.finished ?? transport.eventLoop.makePromise(of: Void.self)
      state.value.finished = finished
      if !isAsked { takeGathered { self.take { $0.finish(at: .now) } } }
      return finished.futureResult
    }.get()
    return try await ask { FormerSession(reception: $0) }
  }

  /// Has the transport deliver what waits in the kernel, which came before the end, and then does
  /// `body`.
  private func takeGathered(then body: @escaping () -> Void) {
    guard state.value.reception.isGathering else { return body() }
    transport.gather(for: .zero)
    // A connection is read in later turns of the loop.
    transport.eventLoop.assumeIsolated().scheduleTask(in: Self.readingTime, body)
  }

  /// Says whether somebody waits for what comes; from any thread.
  func attend(_ isAttended: Bool) { submit { $0.attend(isAttended) } }

  /// Has ``finish()`` wait for nobody; from any thread.
  func hurry() { submit { $0.hurry() } }

  private func submit(_ input: @escaping @Sendable (inout Reception) -> Void) {
    transport.eventLoop.execute { [self] in take(input) }
  }

  // MARK: - On the event loop

  func describe(_ media: [MediaDescription]) { take { $0.described(media, at: .now) } }

  func receive(_ datagram: Datagram) {
    let isIdle = state.withValue { state in
      state.reception.receive(datagram)
      return state.reception.isIdle
    }
    if !isIdle { perform() }
  }

  /// What is genuine is decided before it comes here.
  var authenticates: Bool { false }

  func admit(_ datagram: Datagram) -> Bool {
    receive(datagram)
    return true
  }

  func readCompleted(at now: Instant) { take { $0.readCompleted(at: now) } }

  func transportEnded(_ end: TransportEnd) { take { $0.transportEnded(end) } }

  /// Hands the session an input, which is news, and does what follows from it.
  private func take(_ input: (inout Reception) -> Void) {
    input(&state.value.reception)
    surroundings.activity.note()
    proceed()
  }

  /// Does what is to be done, and has itself woken when more is.
  private func proceed() {
    perform()
    surroundings.distribution.readCompleted()
    guard let due = state.withValue({ $0.reception.deadline }) else { return }
    state.value.alarm.set(for: due, on: transport.eventLoop) { [self] in
      state.value.alarm.rang()
      if state.value.reception.isHolding, !surroundings.distribution.isCrowded {
        state.value.reception.roomMade(at: .now)
      }
      state.value.reception.timePassed(to: .now)
      proceed()
    }
  }

  private func perform() {
    let distribution = surroundings.distribution
    while let action = state.value.reception.nextAction() {
      switch action {
      case .deliver(let unit): delivered(decodingContinues: distribution.deliver(unit))
      case .deliverSound(let unit):
        distribution.deliver(unit)
        delivered(decodingContinues: true)
      case .awaitRoom:
        distribution.whenRoom { [self] in
          submit { reception in
            if distribution.hasEnough { reception.enoughCame() }
            reception.roomAwaited(isCrowded: distribution.isCrowded, at: .now)
          }
        }
      case .sendRTCP(let bytes, let track): transport.sendFeedback(bytes, track: track)
      case .holdReading(let isHeld): transport.holdReading(isHeld)
      case .gather(let time):
        transport.gather(for: time)
        distribution.gather(time > .zero)
      case .mediaBegan(let time): surroundings.tell(.mediaBegan(connection: number, at: time))
      case .senderCame(let time, let last):
        surroundings.tell(.senderCame(connection: number, at: time, after: last))
      case .ended(.connection(let reason)): surroundings.tell(.connectionEnded(number, reason))
      case .ended(.run(let reason)): surroundings.tell(.runEnded(reason))
      case .finished:
        state.value.alarm.cancel()
        state.value.finished?.succeed()
      }
    }
  }

  private func delivered(decodingContinues: Bool) {
    state.value.reception.delivered(
      decodingContinues: decodingContinues, isCrowded: surroundings.distribution.isCrowded,
      at: .now)
    if surroundings.distribution.hasEnough { state.value.reception.enoughCame() }
    surroundings.activity.note()
  }
}

extension StreamDriver {
  /// What the drivers of a run have in common.
  struct Surroundings: Sendable {
    /// Who takes what is delivered.
    var distribution: Distribution
    var tell: @Sendable (Connections.Event) -> Void
    /// Told whenever a session may stand elsewhere than before.
    var activity: Activity
    /// Where transports are opened.
    var tasks: TaskQueue
  }
}
