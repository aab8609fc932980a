package import NIOCore

/// What receives packets for a transport, on its event loop.
package protocol PacketReceiver: AnyObject, SendableMetatype {
  var counters: TransportCounters { get }
  func holdReading(_ isHeld: Bool)
  func close()
}

/// Holds a transport's only receiver, which is opened once or closed before that.
package struct ReceiverSlot<Held: PacketReceiver>: Sendable {
  package let eventLoop: any EventLoop
  private let state: NIOLoopBoundBox<State>

  private enum State {
    case idle
    case opened(Held)
    case closed
  }

  package init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(.idle, eventLoop: eventLoop)
  }

  /// Makes and starts the receiver, both on the event loop.
  ///
  /// The future fails with ``TransportError`` if the transport was opened or closed before.
  package func open(
    _ make: @escaping @Sendable () -> Held,
    begin: @escaping @Sendable (Held) -> EventLoopFuture<Void>
  ) -> EventLoopFuture<Void> {
    eventLoop.flatSubmit { [state, eventLoop] in
      switch state.value {
      case .idle: break
      case .opened: return eventLoop.makeFailedFuture(TransportError.alreadyOpened)
      case .closed: return eventLoop.makeFailedFuture(TransportError.closed)
      }
      let receiver = make()
      state.value = .opened(receiver)
      return begin(receiver)
    }
  }

  /// Runs `body` with the receiver, if any: at once on the event loop, otherwise soon.
  package func withReceiver(_ body: @escaping @Sendable (Held) -> Void) {
    onLoop { state in
      if case .opened(let receiver) = state.value { body(receiver) }
    }
  }

  /// Reads from the receiver; `nil` if there is none, or its event loop is gone.
  package func read<Value: Sendable>(_ body: @escaping @Sendable (Held) -> Value?) async -> Value? {
    let value = try? await eventLoop.submit { [state] () -> Value? in
      if case .opened(let receiver) = state.value { body(receiver) } else { nil }
    }.get()
    return value ?? nil
  }

  package func counters() async -> TransportCounters {
    await read(\.counters) ?? TransportCounters()
  }

  package func holdReading(_ isHeld: Bool) { withReceiver { $0.holdReading(isHeld) } }

  /// Closes the receiver, or prevents it from opening.
  package func close() {
    onLoop { state in
      switch state.value {
      case .idle: state.value = .closed
      case .opened(let receiver): receiver.close()
      case .closed: break
      }
    }
  }

  private func onLoop(_ body: @escaping @Sendable (NIOLoopBoundBox<State>) -> Void) {
    if eventLoop.inEventLoop { return body(state) }
    eventLoop.execute { [state] in body(state) }
  }
}
