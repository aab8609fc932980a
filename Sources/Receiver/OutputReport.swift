public import Outputs

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
