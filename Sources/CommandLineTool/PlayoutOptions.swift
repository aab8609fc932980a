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
    let formats = CommandLineTool.current.outputs.formats.filter(\.canBePaced)
    let names = formats.map { $0.scheme.map { "\($0):" } ?? $0.name }.joined(separator: ", ")
    throw ValidationError(
      "--pace has no effect without an output of frames or of sound alone; those are \(names)")
  }
}
