import BlockingIO
import CNATS
import RTPWire

/// Edits that were sent together, and what became of each: shared by the thread that sends them and
/// those of libnats.
final class PendingEdits: Sendable {
  private struct Value {
    /// Places in ``changes``, by the address of libnats's message, which libnats hands back.
    var places: [UInt: Int] = [:]
    var changes: [KeyValueBucket.Change] = []
  }

  private let monitor = Monitor(Value())

  /// Expects answers to `count` edits, and to none that were sent before.
  func begin(_ count: Int) {
    monitor.quietly { value in
      value = Value(changes: Array(repeating: .unknown, count: count))
    }
  }

  /// The edit at `place` is sent as `message`.
  func note(_ message: UInt, at place: Int) { monitor.quietly { $0.places[message] = place } }

  /// What became of the edit that was sent as `message`.
  func settle(_ message: UInt, as change: KeyValueBucket.Change) {
    monitor.update(wakingIf: \.places.isEmpty) { value in
      guard let place = value.places.removeValue(forKey: message) else { return }
      value.changes[place] = change
    }
  }

  /// What became of all edits, as far as it is known by `deadline`.
  func changes(until deadline: Instant) -> [KeyValueBucket.Change] {
    _ = monitor.wait(until: deadline) { $0.places.isEmpty ? true : nil }
    return monitor.quietly { value in
      value.places = [:]
      return value.changes
    }
  }

  /// For libnats, with a ``CallbackHandle`` as its context.
  static let acknowledged: jsPubAckHandler = { _, message, acknowledgement, refusal, context in
    defer { unsafe natsMsg_Destroy(message) }
    guard let edits = unsafe CallbackHandle<PendingEdits>.target(context) else { return }
    let change: KeyValueBucket.Change
    if let acknowledgement = unsafe acknowledgement {
      change = unsafe .made(revision: acknowledgement.pointee.Sequence)
    } else {
      // Whatever else the server says, nobody else need have been first.
      let code = unsafe refusal?.pointee.ErrCode
      change = code == JSStreamWrongLastSequenceErr ? .refused : .unknown
    }
    edits.settle(UInt(bitPattern: message), as: change)
  }
}
