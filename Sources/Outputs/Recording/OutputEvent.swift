public import RTPWire

/// What happened to an output, or to its files.
public enum OutputEvent: Sendable, Hashable {
  /// A file is complete.
  case fileEnded(RecordedFile)
  /// What follows is in another file, whose name nobody chose.
  case continued(path: String)
  /// A file could not be made or written on; the output goes on in another one.
  case fileFailed(path: String, OutputError)
  /// The sound is not in the files, and why; the pictures are.
  case soundLeftOut(reason: String)
  /// The container cannot hold the sound, which is recorded as something else.
  case soundConverted(SoundChange)
  /// Key pictures come that many seconds apart, so that files are longer than they are to be.
  case keyPicturesRare(distance: Double, segment: Duration)
  /// In a second the sender's clock counts `pace` seconds, so that recordings play too fast or too
  /// slowly; they would be right with a clock of `clockRate` ticks in a second.
  case clockRunsWrong(pace: Double, clockRate: UInt32)
  /// The stream changes so often that parts of it are in no file.
  case changesTooOften
  /// The sender's clock calls for more pictures than time does, so that some are left out.
  case picturesTooOften
  /// Old files were deleted.
  case filesDeleted(count: Int, bytes: Int64)
  /// `errno` of old files that could not be deleted.
  case filesNotDeleted(errno: Int32)
  /// What is to be kept leaves no room for the newest file, which stayed; said once.
  case noRoomForFiles
  /// Whom it is sent to cannot be reached, or can be again.
  case reached(String, Bool)
  /// Whom it is sent to does not want something, and why: it is left out, or sent again.
  case refused(String, reason: String, isLeftOut: Bool)
}

/// One complete file of a recording.
public struct RecordedFile: Sendable, Hashable {
  public let path: String
  /// When its first picture or sound came.
  public let start: WallClockTime
  public let ending: FileEnding
  public let bytes: Int
}

/// Sound that is recorded as something else, because its container cannot hold it.
public struct SoundChange: Sendable, Hashable {
  /// The names of the codecs.
  public let from: String
  public let to: String
  public let container: String
}

/// The last events of an output, and how many there were.
public struct OutputEvents: Sendable, Hashable {
  /// Later ones matter most.
  public static let limit = 64

  public private(set) var last: [OutputEvent] = []
  public private(set) var count = 0
  /// What became of all files so far.
  public private(set) var files = FileStatistics()
  /// How the sound is recorded, where its container cannot hold it as it is.
  public private(set) var soundChange: SoundChange?

  public init() {}

  package mutating func append(_ event: OutputEvent) {
    if last.count >= Self.limit { last.removeFirst() }
    last.append(event)
    if case .soundConverted(let change) = event { soundChange = change }
    files.note(event)
    count += 1
  }

  /// Those after the first `number`, as far as they are still known.
  public func after(_ number: Int) -> ArraySlice<OutputEvent> {
    last.suffix(min(max(count - number, 0), last.count))
  }
}
