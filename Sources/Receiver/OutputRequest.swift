import Decode
public import Outputs

/// One output that is wanted: where to, in which format, and what happens when it is too slow.
public struct OutputRequest: Sendable {
  /// What the output is called in reports: its path, or `-`.
  public var name: String
  public var target: OutputTarget
  public var format: OutputFormat
  /// What happens when it is too slow.
  ///
  /// With `.block` the far end waits where its carrier can make it; a sender of datagrams cannot.
  public var policy: OutputLane.Policy

  /// Makes a request for the output that `argument` names: a path, or `-` for standard output.
  public init(argument: String, format: OutputFormat, policy: OutputLane.Policy) {
    name = argument
    target = OutputTarget(argument: argument)
    self.format = format
    self.policy = policy
  }
}

/// An output while the run lasts.
struct RunningOutput: Sendable {
  let name: String
  let format: OutputFormat
  let policy: OutputLane.Policy
  let lane: OutputLane
}

/// What an output has written so far.
public struct OutputStatus: Sendable, Hashable {
  public let name: String
  public let counters: OutputCounters
}

/// What an output came to.
public struct OutputReport: Sendable, Hashable {
  public let name: String
  /// The files that were written, in order; empty for a pipe.
  public let files: [String]
  /// What ended it before the run did, if anything.
  public let error: OutputError?
  /// What whoever reads the files should know.
  public let notes: [OutputNote]

  init(name: String, summary: OutputSummary?) {
    self.name = name
    files = summary?.files ?? []
    error = summary?.error
    notes = summary?.notes ?? []
  }
}
