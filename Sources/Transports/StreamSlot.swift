internal import NIOCore

/// A stream of packets at work, on its event loop.
protocol PacketStream: AnyObject, SendableMetatype {
  var counters: TransportCounters { get }
  func holdReading(_ isHeld: Bool)
  func close()
}

/// The place of the one stream that a transport has: to be opened once, or closed before that.
struct StreamSlot<Stream: PacketStream>: Sendable {
  let eventLoop: any EventLoop
  private let state: NIOLoopBoundBox<State>

  private enum State {
    case idle
    case opened(Stream)
    case closed
  }

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(.idle, eventLoop: eventLoop)
  }

  /// Makes the stream and has it begin, both on the event loop.
  ///
  /// The future fails with ``TransportError`` when there has been a stream, or is to be none.
  func open(
    _ make: @escaping @Sendable () -> Stream,
    begin: @escaping @Sendable (Stream) -> EventLoopFuture<Void>
  ) -> EventLoopFuture<Void> {
    eventLoop.flatSubmit { [state, eventLoop] in
      switch state.value {
      case .idle: break
      case .opened: return eventLoop.makeFailedFuture(TransportError.alreadyOpened)
      case .closed: return eventLoop.makeFailedFuture(TransportError.closed)
      }
      let stream = make()
      state.value = .opened(stream)
      return begin(stream)
    }
  }

  /// Does something with the stream, if there is one: at once on the event loop, or else soon.
  func withStream(_ body: @escaping @Sendable (Stream) -> Void) {
    onLoop { state in
      if case .opened(let stream) = state.value { body(stream) }
    }
  }

  /// What the stream knows; `nil` when there is none, or its event loop is gone.
  func read<Value: Sendable>(_ body: @escaping @Sendable (Stream) -> Value?) async -> Value? {
    let value = try? await eventLoop.submit { [state] () -> Value? in
      if case .opened(let stream) = state.value { body(stream) } else { nil }
    }.get()
    return value ?? nil
  }

  func counters() async -> TransportCounters { await read(\.counters) ?? TransportCounters() }

  func holdReading(_ isHeld: Bool) { withStream { $0.holdReading(isHeld) } }

  /// Closes the stream, or sees to it that there will be none.
  func close() {
    onLoop { state in
      switch state.value {
      case .idle: state.value = .closed
      case .opened(let stream): stream.close()
      case .closed: break
      }
    }
  }

  private func onLoop(_ body: @escaping @Sendable (NIOLoopBoundBox<State>) -> Void) {
    if eventLoop.inEventLoop { return body(state) }
    eventLoop.execute { [state] in body(state) }
  }
}
