public import Outputs

/// What an output has written so far.
public struct OutputStatus: Sendable {
  public let name: String
  /// The name of its format, such as `mp4`.
  public let format: String
  public let counters: OutputCounters
  /// What only this kind of output counts.
  public let figures: [OutputFigure]
  /// What happened to its files.
  public let events: OutputEvents
  /// How long its file has not been writable, if that is more than two seconds.
  public let stall: Duration?
  /// Whether it is a named pipe that nobody has opened to read for two seconds.
  public let awaitsReader: Bool
  /// What ended it, if an error did.
  public let fault: (any OutputFault)?

  /// Whether an error ended it.
  public var hasFailed: Bool { fault != nil }
}
