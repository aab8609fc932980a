import Defragment
import Outputs
import RTPWire

/// Tells which access units recordings hold: they begin with an intact key picture.
struct RecordableUnits: Sendable {
  private enum State: Sendable {
    /// For a picture with which a file can begin; the time is that of the first other one.
    case waiting(since: MediaTime?)
    /// Pictures may follow that belong before the first one.
    case opening(MediaTime)
    case recording
  }

  private var state = State.waiting(since: nil)

  /// After this many seconds any random-access point will do, as for a recording.
  private static let patience = 2.0

  /// Whether recordings hold `unit`, the next one.
  mutating func takes(_ unit: AccessUnit) -> Bool {
    switch state {
    case .waiting(let since):
      let first = since ?? unit.time
      let isEntry =
        unit.isRandomAccess && unit.integrity == .whole && unit.format != nil
        && (unit.isEntryPoint || unit.time.seconds - first.seconds >= Self.patience)
      state = isEntry ? .opening(unit.time) : .waiting(since: first)
      return isEntry
    case .opening(let key):
      if unit.leads(key) { return false }
      if unit.time.seconds > key.seconds { state = .recording }
      return true
    case .recording: return true
    }
  }
}
