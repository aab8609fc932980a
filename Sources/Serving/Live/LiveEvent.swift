import BlockingIO
import Outputs
import RTPWire

/// Something that happened to a camera.
struct LiveEvent: Sendable {
  let time: WallClockTime
  let words: String
  let isWarning: Bool

  /// Something that happens now.
  init(_ words: String, isWarning: Bool) {
    time = WallClock.system.time(of: .now)
    (self.words, self.isWarning) = (words, isWarning)
  }

  var json: JSONLine {
    var line = JSONLine()
    line.add("time", time.nanoseconds / 1_000_000)
    line.add("warning", isWarning)
    line.add("text", words)
    return line
  }
}
