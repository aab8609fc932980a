import ArgumentParser

struct DisplayOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "One JSON object a line, every second and at the end: a file, - or fd:N.",
      valueName: "path"), completion: .file(), transform: CommandLineSecrets.path)
  var stats: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Rename the --stats file to PATH.1 when it reaches this size, such as 64MiB or a number of bytes, \
      replacing an older one, and start a new file.
      """, valueName: "size"), transform: ByteCount.readPlain)
  var statsSize: Int = 64 << 20

  @Flag(help: "Print only errors.")
  var quiet = false

  @Flag(help: "Print more: codec, format, changes of the source.")
  var verbose = false

  @Flag(help: "No live status line, even on a terminal.")
  var noProgress = false

  @Flag(
    help: """
      Show rates, losses, jitter, NAL units and events on the whole terminal instead; q ends the run.
      """)
  var monitor = false

  /// Whether a terminal gets a line that is updated.
  var wantsLine: Bool { !quiet && !noProgress && !monitor }

  func validate() throws {
    guard !quiet || !verbose else {
      throw ValidationError("--quiet and --verbose contradict each other")
    }
    guard !quiet || !monitor else {
      throw ValidationError("--quiet and --monitor contradict each other")
    }
    guard statsSize >= Self.leastStatsSize else {
      throw ValidationError("--stats-size must be at least \(Self.leastStatsSize)")
    }
  }

  /// Bytes of a few lines.
  private static let leastStatsSize = 16 << 10
}
