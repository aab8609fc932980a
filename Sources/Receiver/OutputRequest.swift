import Decode
public import Outputs

/// A requested output: where to, in which format, and what to do when it is too slow.
public struct OutputRequest: Sendable {
  /// Its name in reports: the path, or `-`.
  public var name: String
  /// Where it goes.
  public var target: OutputTarget
  /// What it is written as.
  public var format: OutputFormat
  /// What to do when it is too slow.
  ///
  /// With `.block` the far end waits if its carrier can be held; a sender of datagrams cannot.
  public var policy: OutputLane.Policy
  /// What the frames are converted to.
  public var shape: FrameShape
  /// How a recording is divided into files.
  public var recording = RecordingPlan()
  /// Which frames become pictures, where the format is one of pictures.
  public var pictures = PictureSelection()

  /// Makes a request for the output that `argument` names: a path, `-` for standard output, or a
  /// path after the format's scheme.
  public init(
    argument: String, format: OutputFormat, policy: OutputLane.Policy,
    shape: FrameShape = FrameShape()
  ) {
    name = argument
    let prefix = format.scheme.map { "\($0):" } ?? ""
    target =
      prefix.isEmpty || !argument.hasPrefix(prefix)
      ? OutputTarget(argument: argument) : .path(String(argument.dropFirst(prefix.count)))
    self.format = format
    self.policy = policy
    self.shape = shape
  }

  /// Whether nobody waits for what is written: it is stored as it was coded.
  public var isForLater: Bool {
    policy == .block && (format.isRecording || !format.inputs.needDecoding && target.isFile)
  }
}

/// An output during the run.
struct RunningOutput: Sendable {
  let name: String
  let format: OutputFormat
  /// Whether the far end is held while it has more waiting than it should.
  let holdsFarEnd: Bool
  let lane: OutputLane
}

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

/// The result of an output.
public struct OutputReport: Sendable {
  public let name: String
  /// What it is made from.
  public let inputs: OutputFormat.Inputs
  /// The files written; none for a pipe.
  public let files: WrittenFiles
  /// What ended it before the end of the run, if anything.
  public let error: (any OutputFault)?
  /// Notes for readers of the files.
  public let notes: [OutputNote]

  init(name: String, inputs: OutputFormat.Inputs, summary: OutputSummary?) {
    self.name = name
    self.inputs = inputs
    files = summary?.files ?? []
    error = summary?.error
    notes = summary?.notes ?? []
  }
}
