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
