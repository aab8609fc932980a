public import RTPWire

/// What happened to the files of an output.
public enum OutputEvent: Sendable, Hashable {
  /// A file is complete.
  case fileEnded(RecordedFile)
  /// A file could not be written on; the recording goes on in another one.
  case fileFailed(path: String, OutputError)
  /// The sound is not in the files, and why; the pictures are.
  case soundLeftOut(reason: String)
  /// Old files were deleted.
  case filesDeleted(count: Int, bytes: Int64)
  /// `errno` of old files that could not be deleted.
  case filesNotDeleted(errno: Int32)
}

/// One complete file of a recording.
public struct RecordedFile: Sendable, Hashable {
  public let path: String
  /// When its first picture or sound came.
  public let start: WallClockTime
  public let ending: FileEnding
  public let bytes: Int
}

/// The last events of an output, and how many there were.
public struct OutputEvents: Sendable, Hashable {
  /// Later ones matter most.
  public static let limit = 64

  public private(set) var last: [OutputEvent] = []
  public private(set) var count = 0

  public init() {}

  mutating func append(_ event: OutputEvent) {
    if last.count >= Self.limit { last.removeFirst() }
    last.append(event)
    count += 1
  }

  /// Those after the first `number`, as far as they are still known.
  public func after(_ number: Int) -> ArraySlice<OutputEvent> {
    last.suffix(min(max(count - number, 0), last.count))
  }
}
