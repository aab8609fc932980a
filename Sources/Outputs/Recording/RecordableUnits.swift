package import Defragment
import RTPWire

/// Tells which access units recordings hold, as ``Recorder`` takes them.
package struct RecordableUnits: Sendable {
  private enum State: Sendable {
    /// For a picture with which a file can begin.
    case waiting
    /// Pictures may follow that belong before the first one.
    case opening(MediaTime)
    case recording
  }

  private var state = State.waiting
  private var continuity = Continuity()
  private var entries = FileEntries()
  /// Whether what follows an outage begins another file; a pipe goes on.
  private let canContinue: Bool

  package init(inFiles: Bool) { canContinue = inFiles }

  /// Whether recordings hold `unit`, the next one.
  package mutating func takes(_ unit: AccessUnit) -> Bool {
    let leap = continuity.judge(.init(unit), at: unit.time, arrival: unit.firstArrival)
    if leap != nil, unit.needsThoseBefore {
      // The file goes on up to the next entry.
      if case .opening = state { state = .recording }
    } else if leap != nil, canContinue {
      state = .waiting
      entries.beginAnew()
    }
    _ = entries.noteSets(of: unit)
    let isEntry = entries.isEntry(unit)
    switch state {
    case .waiting:
      if isEntry { state = .opening(unit.time) }
      return isEntry
    case .opening(let key):
      if unit.leads(key) { return false }
      if unit.time.seconds > key.seconds { state = .recording }
      return true
    case .recording: return true
    }
  }
}
