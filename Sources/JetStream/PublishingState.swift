import BlockingIO
import CNATS
import NIOCore
import RTPWire
import Transports

/// What was published and is not acknowledged, and how the connection stands: shared by the thread
/// that publishes and those of libnats.
final class PublishingState: NATSLink.Watcher {
  struct Value {
    var phase = NATSLink.Phase.away(since: .now)
    /// Whether the stream has to be looked at, and what is not acknowledged sent again.
    var needsPreparation = true
    /// Whether to rest before that: sent again at once, it would come to the same.
    var needsRest = false
    /// In the order in which it was published.
    var outstanding: [Outstanding] = []
    var outstandingBytes = 0
    var acknowledged: UInt64 = 0
    var acknowledgedItems = 0
    var acknowledgedBytes = 0
    /// Messages that the server does not want, and the items whose last ones they were.
    var leftOut: UInt64 = 0
    var leftOutItems = 0
    /// What the server refused last, until that is said.
    var refusal: Refusal?
    /// When to give up.
    var deadline: Instant?
    /// Whether a wait has to look again at what it waits for.
    var isInterrupted = false
  }

  /// A message that is not acknowledged.
  struct Outstanding {
    let message: Publication.Message
    var refusals = 0
    /// Messages that were acknowledged when it was refused for the first time.
    var acknowledgedBefore: UInt64 = 0
  }

  /// Why the server did not keep a message.
  struct Refusal: Sendable, Hashable {
    let reason: String
    /// Whether the message is not sent again.
    var isLeftOut: Bool
  }

  /// What became of a message.
  enum Answer {
    case kept
    /// The server says why it is not; of some reasons it is known that they stay.
    case refused(reason: String, isForGood: Bool)
    /// Nobody took it, or nobody said so in time.
    case none
  }

  /// A message that is refused so often, while others are kept, is left out.
  static let mostRefusals = 3
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

  func set(deadline: Instant) {
    monitor.update { value in
      value.deadline = deadline
      value.isInterrupted = true
    }
  }

  /// Takes what became of a message.
  func answered(_ id: String, _ answer: Answer) { monitor.update { $0.note(id, answer) } }

  /// Something could not be sent.
  func stumbled() {
    monitor.update { value in
      value.needsPreparation = true
      value.needsRest = true
    }
  }
}

extension PublishingState.Value {
  fileprivate mutating func note(_ id: String, _ answer: PublishingState.Answer) {
    // What was sent again may be answered twice.
    guard let index = outstanding.firstIndex(where: { $0.message.id == id }) else { return }
    switch answer {
    case .kept:
      let message = remove(at: index)
      acknowledged += 1
      acknowledgedItems += message.items
      acknowledgedBytes += message.payload.readableBytes
    case .refused(let reason, let isForGood):
      if outstanding[index].refusals == 0 { outstanding[index].acknowledgedBefore = acknowledged }
      outstanding[index].refusals += 1
      // Others were kept meanwhile: it is this message.
      let isAlone =
        outstanding[index].refusals >= PublishingState.mostRefusals
        && acknowledged > outstanding[index].acknowledgedBefore
      refusal = PublishingState.Refusal(reason: reason, isLeftOut: isForGood || isAlone)
      guard isForGood || isAlone else {
        needsPreparation = true
        needsRest = true
        return
      }
      leftOutItems += remove(at: index).items
      leftOut += 1
    // A cluster without a quorum says at once that nobody takes it.
    case .none:
      needsPreparation = true
      needsRest = true
    }
  }

  private mutating func remove(at index: Int) -> Publication.Message {
    let message = outstanding.remove(at: index).message
    outstandingBytes -= message.payload.readableBytes
    return message
  }
}

extension PublishingState.Answer {
  /// What libnats says of a message.
  init(
    _ acknowledgement: UnsafeMutablePointer<jsPubAck>?,
    _ refusal: UnsafeMutablePointer<jsPubAckErr>?
  ) {
    guard unsafe acknowledgement == nil else {
      self = .kept
      return
    }
    guard let refusal = unsafe refusal?.pointee, unsafe refusal.ErrCode != jsErrCode(0) else {
      self = .none
      return
    }
    let code = unsafe refusal.ErrCode
    let reason = unsafe refusal.ErrText.map { unsafe String(cString: $0) }
    self = .refused(
      reason: (reason ?? "error \(code.rawValue)").printable,
      isForGood: code == JSStreamMessageExceedsMaximumErr)
  }
}
