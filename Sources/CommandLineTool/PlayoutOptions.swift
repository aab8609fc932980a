import ArgumentParser
import Outputs
import Receiver

struct PlayoutOptions: ParsableArguments {
  @Flag(
    help: """
      Let frames and sound leave at their own times, for players: jitter is smoothed, and a recording \
      plays at its speed.
      """)
  var pace = false

  /// Throws if nothing that is written can be paced.
  func check(_ requests: [OutputRequest]) throws {
    guard pace, !requests.contains(where: { $0.format.canBePaced }) else { return }
    throw ValidationError("--pace has no effect without an output of frames or of sound alone")
  }
}
