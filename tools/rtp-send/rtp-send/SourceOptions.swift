import ArgumentParser
import OptionNames
import RTPSend

struct SourceOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Frames a second, for the pattern and for elementary streams (default: what the file says).",
      valueName: "rate"),
    transform: Double.reading(or: "a rate is a number such as 25 or 29.97"))
  var fps: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many frames.", valueName: "n"))
  var frames: Int?

  @Option(
    name: .customLong("loop"),
    help: ArgumentHelp("Send the source this many times, or 'forever'.", valueName: "n"))
  var repetitions = Repetitions(count: 1)

  @Flag(
    help: """
      The file goes on: it is still being written, and when its writer goes on to the next one, that \
      is sent on without a seam. See SOURCE above.
      """)
  var follow = false

  @Option(
    help: ArgumentHelp(
      """
      --follow for the source under this name of rtsp:// alone, where others are files that have an \
      end; once for each.
      """, valueName: "name"))
  var followOnly: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      With --follow: where the parameter sets are, if the files do not have them before they are \
      closed: an elementary stream, or an MP4 that the same writer has closed.
      """, valueName: "file"), completion: .file())
  var parameterSets: String?

  @Flag(help: "Leave VPS, SPS and PPS out of the stream, so that only the SDP file has them.")
  var stripParameterSets = false

  func check() throws {
    if let fps, !(fps > 0 && fps <= 1000) {
      throw ValidationError("--fps must be above 0, to 1000")
    }
    guard !follow || followOnly.isEmpty else {
      throw ValidationError("--follow is for all sources, --follow-only for some; leave one out")
    }
    guard parameterSets == nil || follow || !followOnly.isEmpty else {
      throw ValidationError("--parameter-sets has no effect without --follow")
    }
    if let frames, frames < 1 { throw ValidationError("--frames must be at least 1") }
  }

  /// Whether what goes there is still being written, if it is a file.
  func follows(to destination: Destination) -> Bool {
    guard case .serveRTSP(_, _, let name, _) = destination else { return follow }
    return follow || followOnly.contains(name)
  }
}
