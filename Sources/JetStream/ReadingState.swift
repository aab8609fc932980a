import BlockingIO
import NIOCore
import RTPWire

/// What a camera's stream has delivered and the event loop has not taken, and how the connection
/// stands: shared by the thread that reads, those of libnats and the event loop.
final class ReadingState: NATSLink.Watcher, StreamSubscription.Taker {
  struct Value {
    var phase = NATSLink.Phase.away(since: .now)
    /// Whether there has to be another consumer.
    var needsConsumer = false
    /// The consumer whose messages count.
    var consumer = 0
    /// The last message taken.
    var lastSequence: UInt64 = 0
    /// Messages that were gone before they were delivered.
    var expired: UInt64 = 0
    /// Streams that took the place of one whose messages were taken.
    var renewals: UInt64 = 0
    var waiting = CircularBuffer<StreamSubscription.Message>()
    var waitingBytes = 0
    var isClosed = false
    /// Whether the event loop knows that there is something, or will look.
    var isAnnounced = false
  }

  /// What waits for the event loop; libnats and the server wait for room.
  private static let mostBytes = 4 << 20
  private static let mostMessages = 1024

  let monitor = Monitor(Value())
  /// Called when there is something, until it is taken.
  private let announce: @Sendable () -> Void

  init(announce: @escaping @Sendable () -> Void) { self.announce = announce }

  func linkChanged(_ phase: NATSLink.Phase) {
    monitor.update { value in
      if case .closed = value.phase { return }
      // What the server has of the consumer is gone, or will be.
      if phase == .connected, value.phase != .connected { value.needsConsumer = true }
      value.phase = phase
    }
  }

  func lost(from consumer: Int) {
    monitor.update { value in
      if value.consumer == consumer { value.needsConsumer = true }
    }
  }

  func take(_ message: StreamSubscription.Message, from consumer: Int) {
    let announces = monitor.wait { value -> Bool? in
      guard !value.isClosed, value.consumer == consumer, message.sequence > value.lastSequence
      else { return false }
      let hasRoom =
        value.waiting.isEmpty
        || value.waitingBytes + message.payload.readableBytes <= Self.mostBytes
          && value.waiting.count < Self.mostMessages
      guard hasRoom else { return nil }
      if value.lastSequence > 0 { value.expired += message.sequence - value.lastSequence - 1 }
      value.lastSequence = message.sequence
      value.waiting.append(message)
      value.waitingBytes += message.payload.readableBytes
      defer { value.isAnnounced = true }
      return !value.isAnnounced
    }
    if announces == true { announce() }
  }

  /// Whether a stream whose newest message is `newest` is another one than before: the server lost
  /// what it had.
  func isRenewed(newest: UInt64) -> Bool { monitor.quietly { newest < $0.lastSequence } }

  /// What comes is of another stream.
  func beginAnew() {
    monitor.quietly { value in
      value.lastSequence = 0
      value.renewals += 1
    }
  }

  /// Takes the next message; if there is none, the caller is told once there is.
  func takeNext() -> StreamSubscription.Message? {
    monitor.update { value in
      guard let message = value.waiting.popFirst() else {
        value.isAnnounced = false
        return nil
      }
      value.waitingBytes -= message.payload.readableBytes
      return message
    }
  }

  func close() {
    monitor.update { value in
      value.isClosed = true
      value.waiting.removeAll()
      value.waitingBytes = 0
    }
  }
}
