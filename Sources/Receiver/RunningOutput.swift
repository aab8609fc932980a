import Outputs

/// An output during the run.
struct RunningOutput: Sendable {
  let name: String
  let format: OutputFormat
  /// Whether the far end is held while it has more waiting than it should.
  let holdsFarEnd: Bool
  let lane: OutputLane
}
