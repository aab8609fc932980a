import RTPWire

/// Why an output ends a file.
public enum FileReason: String, Sendable, Hashable, CaseIterable {
  /// The run, or the output, is over.
  case end
  /// The parameter sets of the stream changed.
  case parameters
  /// The sender's clock leapt.
  case clock
  /// Nothing came for some time.
  case outage
  /// The clock of this machine was set.
  case clockSet = "clock_set"
  /// The file is as long as files are to be.
  case time
  /// The stream reorders more than it said or showed, so the decoding times have to begin anew.
  case reordering
  /// A track came that the file does not have.
  case track

  /// What happened, in words.
  public var words: String {
    switch self {
    case .end: "the recording ended"
    case .parameters: "the stream changed its parameter sets"
    case .clock: "the sender's clock leapt"
    case .outage: "nothing came for some time"
    case .clockSet: "the clock of this machine was set"
    case .time: "the file is as long as files are to be"
    case .reordering: "the stream reorders pictures further than it had said or shown"
    case .track: "another track came"
    }
  }
}

/// The beginning of a file.
struct FileBeginning: Sendable, Hashable {
  /// When the first picture or sound in it came.
  var start: WallClockTime
}

/// How a file ended, and what it has become.
public struct FileEnding: Sendable, Hashable {
  public let reason: FileReason
  /// How long the file plays, in seconds.
  public let duration: Double
  /// Pictures or, without them, pieces of sound.
  public let frames: Int
  /// Whether there are no pictures in it.
  public let isSoundOnly: Bool
  /// Pictures at its start that refer to earlier ones, which it lacks: they were left out.
  public let leftOut: Int
  /// How long files are to be at least, if that was said.
  public internal(set) var segment: Duration?

  init(
    reason: FileReason, duration: Double, frames: Int, isSoundOnly: Bool = false, leftOut: Int = 0
  ) {
    self.reason = reason
    self.duration = duration
    self.frames = frames
    self.isSoundOnly = isSoundOnly
    self.leftOut = leftOut
  }
}
