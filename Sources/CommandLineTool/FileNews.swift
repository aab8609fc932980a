import Outputs
import RTPWire
import Transports

/// How much is said of files that the stream has ended: one that changes with every picture must
/// not fill a log.
struct FileNews {
  /// How often another message is allowed, after as many in a row as there may be files.
  private static let interval = Duration.seconds(60)

  private var allowance = FileAllowance(every: interval)
  private var leftOut = 0
  /// Whether the end of the last file was said, by the place of its output.
  private var endsSaid: [Int: Bool] = [:]

  /// Whether `event` of the output at `place` may be said at `now`.
  ///
  /// Files that end because they are long enough, or with the run, are as many as the user wants.
  mutating func admits(_ event: OutputEvent, ofOutput place: Int, at now: Instant) -> Bool {
    switch event {
    case .fileEnded(let file):
      let isWanted = file.ending.reason == .time || file.ending.reason == .end
      let isSaid = isWanted || take(at: now)
      endsSaid[place] = isSaid
      return isSaid
    case .continued:
      // It goes with the end before it, if the output says one.
      guard let isSaid = endsSaid.removeValue(forKey: place) else { return take(at: now) }
      if !isSaid { leftOut += 1 }
      return isSaid
    case .fileFailed:
      // What goes on behind it goes on behind no end.
      endsSaid[place] = nil
      return true
    default: return true
    }
  }

  /// How much was left out, once there may be messages again; `nil` if nothing was.
  mutating func remark(at now: Instant) -> Remark? {
    allowance.allowsFile(at: now) ? takeRemark() : nil
  }

  /// The same at once.
  mutating func takeRemark() -> Remark? {
    guard leftOut > 0 else { return nil }
    defer { leftOut = 0 }
    return Remark("\(leftOut.counted("message")) about files left out")
  }

  private mutating func take(at now: Instant) -> Bool {
    guard allowance.allowsFile(at: now) else {
      leftOut += 1
      return false
    }
    allowance.noteFile(at: now)
    return true
  }
}
