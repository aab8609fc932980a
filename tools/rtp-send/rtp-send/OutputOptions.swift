import ArgumentParser

struct OutputOptions: ParsableArguments {
  @Option(
    name: .customLong("sdp"),
    help: ArgumentHelp(
      "Describe the stream in a file, before the first packet.", valueName: "file"),
    completion: .file()
  )
  var sdp: String?

  @Option(
    help: ArgumentHelp(
      "Write the totals as JSON at the end; - is standard output.", valueName: "file"),
    completion: .file())
  var stats: String?

  @Flag(help: "Say nothing but errors on standard error.")
  var quiet = false
}
