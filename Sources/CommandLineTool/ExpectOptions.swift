import ArgumentParser

/// What a script expects of the run.
struct ExpectOptions: ParsableArguments {
  @Option(
    name: .customLong("expect"),
    help: ArgumentHelp(
      """
      Rules for the run, separated by commas, or in several --expect, such as 'frames>=300, loss<=0.1%, size=1920x1080'. \
      What can be measured: \(ExpectedMetric.names). codec is one of \(Self.words("codec")); audio one \
      of \(Self.words("audio")). A share is a percentage, or a part of one: 0.1% is 0.001. Every picture is right where \
      intact=100%: concealed frames lack parts themselves, damaged ones refer to frames that are not \
      intact; both can also be a share of all frames. The result is a JSON object with each rule, \
      what was measured and whether it held: in the last line of --stats if given, otherwise on \
      standard output if no output is there, otherwise on standard error.
      """, valueName: "rules"))
  var texts: [String] = []

  /// The rules; empty if there are none.
  func rules() throws -> [Expectation] {
    do {
      return try texts.flatMap { try Expectation.list($0) }
    } catch { throw ValidationError("\(error)") }
  }

  func validate() throws { _ = try rules() }

  /// The words that a metric can be.
  private static func words(_ metric: String) -> String {
    ExpectedMetric.all.first { $0.name == metric }?.words().joined(separator: ", ") ?? ""
  }
}
