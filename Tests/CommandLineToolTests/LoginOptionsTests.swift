import ArgumentParser
import Testing
import Transports

@testable import CommandLineTool

@Suite struct LoginOptionsTests {
  /// Where the login is to be given: a fleet has keys, and neither an environment nor a terminal.
  @Test(
    "a missing login is asked for in the words of who asks",
    arguments: [
      (false, "rtsp://camera", ["--user", "--password-file", "RTP_RECV_PASSWORD"]),
      (false, "rtsp://viewer@camera", ["--password-file", "terminal"]),
      (true, "rtsp://camera", ["'user'", "'password-file'", "'credential'"]),
      (true, "rtsp://viewer@camera", ["'password-file'", "'credential'"]),
    ])
  func advice(isFleet: Bool, source: String, words: [String]) throws {
    let transports = CommandLineTool.current.transports
    let camera = isFleet ? CommandLineSecrets([], transports: transports) : nil
    let advice = try CommandLineSecrets.$ofCamera.withValue(camera) {
      try LoginOptions.parse([]).advice(for: SourceArgument(source, transports: transports))
    }
    for word in words { #expect(advice.contains(word), "\(advice)") }
    #expect(!isFleet || !advice.contains("--"), "\(advice)")
  }
}
