import BlockingIO
import NIOCore
import RTPWire

/// What was published and is not acknowledged, and how the connection stands: shared by the thread
/// that publishes and those of libnats.
final class PublishingState: NATSLink.Watcher {
  struct Value {
    var phase = NATSLink.Phase.away(since: .now)
    /// Whether the stream has to be looked at, and what is not acknowledged sent again.
    var needsPreparation = true
    /// In the order in which it was published, by number.
    var outstanding: [(number: UInt64, message: Publication.Message)] = []
    var outstandingBytes = 0
    var lastNumber: UInt64 = 0
    var acknowledged: UInt64 = 0
    var acknowledgedItems = 0
    var acknowledgedBytes = 0
    /// When to give up.
    var deadline: Instant?
    /// Whether a wait has to look again at what it waits for.
    var isInterrupted = false
  }

  /// A message of at most so many bytes always fits; more than about two seconds of video do not.
  static let mostBytes = 8 << 20
  static let mostMessages = 1024

  let monitor = Monitor(Value())

  func linkChanged(_ phase: NATSLink.Phase) {
    monitor.update { value in
      if case .closed = value.phase { return }
      if phase == .connected { value.needsPreparation = true }
      value.phase = phase
    }
  }

  func linkStumbled() {}

  func set(deadline: Instant) {
    monitor.update { value in
      value.deadline = deadline
      value.isInterrupted = true
    }
  }

  /// Takes the acknowledgement of a message, or that there is none.
  func acknowledged(_ id: String, isGood: Bool) {
    monitor.update { value in
      // What was sent again may be acknowledged twice.
      guard let index = value.outstanding.firstIndex(where: { $0.message.id == id }) else { return }
      guard isGood else { return value.needsPreparation = true }
      let message = value.outstanding.remove(at: index).message
      value.outstandingBytes -= message.payload.readableBytes
      value.acknowledged += 1
      value.acknowledgedItems += message.items
      value.acknowledgedBytes += message.payload.readableBytes
    }
  }
}
