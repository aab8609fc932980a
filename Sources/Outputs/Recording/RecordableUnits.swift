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
  /// Whether they hold the last unit, and whether a file begins with it.
  private var last = (isHeld: false, beginsFile: false)

  package init(inFiles: Bool) { canContinue = inFiles }

  /// Whether recordings hold `unit`, the next one.
  ///
  /// They hold both fields of a frame or neither: if a second one is not held, its first one, of
  /// which something else was said, is not held either.
  package mutating func takes(_ unit: AccessUnit) -> Bool {
    if unit.fields == .second {
      // No file begins with a frame that lacks something.
      if last.beginsFile, unit.integrity != .whole {
        state = .waiting
        last.isHeld = false
      }
    } else {
      last.beginsFile = false
      last.isHeld = takes(picture: unit)
    }
    return last.isHeld
  }

  private mutating func takes(picture unit: AccessUnit) -> Bool {
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
      last.beginsFile = isEntry
      return isEntry
    case .opening(let key):
      if unit.leads(key) { return false }
      if unit.time.seconds > key.seconds { state = .recording }
      return true
    case .recording: return true
    }
  }
}
