internal import NIOCore

/// An open stream of packets, on its event loop.
protocol PacketStream: AnyObject, SendableMetatype {
  var counters: TransportCounters { get }
  func holdReading(_ isHeld: Bool)
  func close()
}

/// Holds a transport's only stream, which is opened once or closed before that.
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

  /// Makes and starts the stream, both on the event loop.
  ///
  /// The future fails with ``TransportError`` if the transport was opened or closed before.
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

  /// Runs `body` with the stream, if any: at once on the event loop, otherwise soon.
  func withStream(_ body: @escaping @Sendable (Stream) -> Void) {
    onLoop { state in
      if case .opened(let stream) = state.value { body(stream) }
    }
  }

  /// Reads from the stream; `nil` if there is none, or its event loop is gone.
  func read<Value: Sendable>(_ body: @escaping @Sendable (Stream) -> Value?) async -> Value? {
    let value = try? await eventLoop.submit { [state] () -> Value? in
      if case .opened(let stream) = state.value { body(stream) } else { nil }
    }.get()
    return value ?? nil
  }

  func counters() async -> TransportCounters { await read(\.counters) ?? TransportCounters() }

  func holdReading(_ isHeld: Bool) { withStream { $0.holdReading(isHeld) } }

  /// Closes the stream, or prevents it from opening.
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
