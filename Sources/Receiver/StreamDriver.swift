import Bitstream
import Defragment
import NIOCore
import RTPWire
import Reception
import Transports

/// Carries out the actions of a ``Reception`` on its transport's event loop, and decides nothing.
final class StreamDriver: DatagramSink {
  /// The consumer of a driver.
  struct Surroundings: Sendable {
    /// Returns whether decoding can continue with the next unit.
    var deliver: @Sendable (AccessUnit) -> Bool
    /// Whether consumers have more waiting than they should.
    var isCrowded: @Sendable () -> Bool
    /// Calls back once when they may have room again, from any thread.
    var whenRoom: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Called with the first packet of media.
    var mediaBegan: @Sendable (Instant) -> Void
    var end: @Sendable (Reception.End) -> Void
    /// Notes every change of the session.
    var activity: Activity
  }

  private struct State {
    var reception: Reception
    var wakeUp: (at: Instant, task: Scheduled<Void>)?
    var awaitsRoom = false
    var finished: EventLoopPromise<Void>?
  }

  let transport: any RTPTransport
  private let surroundings: Surroundings
  private let state: NIOLoopBoundBox<State>

  init(_ reception: Reception, for transport: any RTPTransport, in surroundings: Surroundings) {
    self.transport = transport
    self.surroundings = surroundings
    state = .makeBoxSendingValue(
      State(reception: reception), eventLoop: transport.eventLoop)
  }

  private var eventLoop: any EventLoop { transport.eventLoop }

  /// Opens the transport and reports the result; the first one of a run starts its clocks.
  func open(startingRunAt start: Instant? = nil) {
    eventLoop.execute { [self] in
      if let start { state.value.reception.startRun(at: start) }
      proceed()
    }
    Task { [self] in
      do {
        try await transport.open(delivering: self)
        eventLoop.execute { [self] in
          state.value.reception.transportOpened(takesReports: transport.takesReports, at: .now)
          proceed()
        }
      } catch {
        eventLoop.execute { [self] in
          state.value.reception.openingFailed(error)
          proceed()
        }
      }
    }
  }

  /// A snapshot of the stream.
  func status() async throws -> StreamStatus {
    try await eventLoop.submit { [self] in state.value.reception.status }.get()
  }

  /// The unusable media that came, if nothing else did.
  func unusableMedia() async throws -> EndReason? {
    try await eventLoop.submit { [self] in state.value.reception.unusableMedia }.get()
  }

  /// Passes on what is still held and sends RTCP BYE; nothing comes out afterwards.
  ///
  /// - Returns: the session, for the next one to follow.
  func finish() async throws -> Reception {
    let finished = try await eventLoop.submit { [self] in
      // A run that ends while nothing is open ends the last connection a second time.
      if let finished = state.value.finished { return finished.futureResult }
      let finished = eventLoop.makePromise(of: Void.self)
      state.value.finished = finished
      state.value.reception.finish(at: .now)
      proceed()
      return finished.futureResult
    }.get()
    try await finished.get()
    return try await eventLoop.submit { [self] in state.value.reception }.get()
  }

  /// Makes ``finish()`` wait for nobody, from any thread.
  func hurry() {
    eventLoop.execute { [self] in
      state.value.reception.hurry()
      proceed()
    }
  }

  // MARK: - On the event loop

  func describe(_ media: [MediaDescription]) {
    state.value.reception.described(media, at: .now)
    proceed()
  }

  func receive(_ datagram: Datagram) {
    state.value.reception.receive(datagram)
    perform()
  }

  var authenticates: Bool { false }

  func admit(_ datagram: Datagram) -> Bool {
    receive(datagram)
    return true
  }

  func readCompleted(at now: Instant) {
    state.value.reception.readCompleted(at: now)
    proceed()
  }

  func transportEnded(_ end: TransportEnd) {
    state.value.reception.transportEnded(Reception.CarrierEnd(end))
    proceed()
  }

  /// Carries out actions and schedules the next wake-up.
  private func proceed() {
    perform()
    surroundings.activity.note()
    // An early wake-up just looks again: moving the timer would cost a system call per packet.
    guard let due = state.value.reception.deadline,
      state.value.wakeUp.map({ due < $0.at }) ?? true
    else { return }
    state.value.wakeUp?.task.cancel()
    let delay = TimeAmount.nanoseconds(max(0, Instant.now.nanoseconds(to: due)))
    let task = eventLoop.scheduleTask(in: delay) { [self] in
      state.value.wakeUp = nil
      state.value.reception.timePassed(to: .now)
      proceed()
    }
    state.value.wakeUp = (due, task)
  }

  private func perform() {
    while let action = state.value.reception.nextAction() {
      switch action {
      case .deliver(let unit):
        if !surroundings.deliver(unit) { state.value.reception.wantKeyPicture(at: .now) }
        tellRoom()
      case .sendRTCP(let bytes, let track): transport.sendFeedback(bytes, track: track)
      case .holdReading(let isHeld): transport.holdReading(isHeld)
      case .mediaBegan(let time): surroundings.mediaBegan(time)
      case .ended(let end): surroundings.end(end)
      case .finished:
        state.value.wakeUp?.task.cancel()
        state.value.finished?.succeed()
      }
    }
  }

  /// Tells the session whether there is room.
  private func tellRoom() {
    let isCrowded = surroundings.isCrowded()
    state.value.reception.crowded(isCrowded, at: .now)
    guard isCrowded, !state.value.awaitsRoom else { return }
    state.value.awaitsRoom = true
    surroundings.whenRoom { [weak self] in
      guard let self else { return }
      eventLoop.execute { [self] in
        state.value.awaitsRoom = false
        tellRoom()
        proceed()
      }
    }
  }
}

extension Reception.CarrierEnd {
  fileprivate init(_ end: TransportEnd) {
    self =
      switch end {
      case .ended: .ended
      case .failed(let error): .failed(error)
      case .closed: .closed
      }
  }
}

extension Instant {
  /// The monotonic clock's time; the core gets it as a parameter.
  static var now: Instant {
    Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
  }
}
