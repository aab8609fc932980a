import ArgumentParser
import Testing

@testable import CommandLineTool

/// What follows from ArgumentParser's sentences, which another version of it may word otherwise.
struct ParserWordsTests {
  @Test(
    "several sources, and none, are explained",
    arguments: [
      (
        ["rtsp://127.0.0.1:9", "rtsp://127.0.0.2:9"],
        "; several cameras are a fleet: rtp-recv fleet --help"
      ),
      (["--sdp", "x.sdp"], "; give the session description as the source, without --sdp"),
    ])
  func sources(arguments: [String], hint: String) throws {
    let error = try #require(throws: (any Error).self) { try RTPRecv.parseAsRoot(arguments) }
    let words = RTPRecv.words(for: error, about: arguments)
    #expect(words.hasSuffix(hint), "\(words)")
  }

  @Test("a flag with another value than true and false is explained in the words of the file")
  func flag() {
    let fault = #expect(throws: FleetFile.Fault.self) {
      try FleetPlan(
        FleetFile("cameras: {a: {source: 'rtp://:0', quiet: yes}}", path: "x.yaml"), path: "x.yaml")
    }
    #expect(fault?.words == "camera 'a': 'quiet' is true or false")
  }
}
