import ArgumentParser
import Testing

@testable import CommandLineTool

/// What follows from ArgumentParser's sentences, which another version of it may word otherwise.
///
/// `OptionTests` has that of several sources, `FleetTests` that of flags.
struct ParserWordsTests {
  @Test(
    "an argument that is too much, or missing, is explained",
    arguments: [
      (["--sdp", "x.sdp"], "; give the session description as the source, without --sdp"),
      (["rtp://:5004", "x.mp4"], "; an output is -o x.mp4"),
      (["rtp://:5004", "-o", "a.mkv", "a.mp4"], "'a.mp4'; an output is -o a.mp4"),
      (["rtp://:5004", "shm:x"], "; an output is -o shm:x"),
      (["rtp://:5004", "x.pdf"], "Unexpected argument 'x.pdf'"),
    ])
  func sources(arguments: [String], hint: String) throws {
    let error = try #require(throws: (any Error).self) { try RTPRecv.parseAsRoot(arguments) }
    let words = RTPRecv.words(for: error, about: arguments)
    #expect(words.hasSuffix(hint), "\(words)")
  }

  @Test(
    "what is no number is told what is allowed",
    arguments: [
      (["--heartbeat-interval", "5s"], "; it takes a number of seconds without a unit"),
      (["--receive-buffer", "4M"], "; it takes a whole number of bytes without a unit"),
      (["--frames", "1k"], "; it takes a whole number without a unit"),
      (["--clock-rate", "90k"], "; it takes a whole number without a unit"),
      (["--stream", "one"], "; it takes a whole number without a unit"),
      (["--speed", "2x"], "; it takes a number, such as 2 or 0.5"),
      (["--ssrc", "zzz"], "; it takes a whole number, or hexadecimal digits after 0x"),
      // It is a whole number.
      (["--payload-type", "300"], "'--payload-type <n>'"),
    ])
  func numbers(options: [String], hint: String) throws {
    let arguments = ["rtp://:5004"] + options
    let error = try #require(throws: (any Error).self) { try RTPRecv.parseAsRoot(arguments) }
    let words = RTPRecv.words(for: error, about: arguments)
    #expect(words.hasPrefix("The value '\(options[1])' is invalid for"), "\(words)")
    #expect(words.hasSuffix(hint), "\(words)")
  }

  @Test(
    "a slip of the fingers for a command is no source",
    arguments: [
      (["discovr"], "there is no file 'discovr'; did you mean 'rtp-recv discover'?"),
      (["flet", "cameras.yaml"], "there is no file 'flet'; did you mean 'rtp-recv fleet'?"),
      (["--quiet", "fleets"], "there is no file 'fleets'; did you mean 'rtp-recv fleet'?"),
      (["help"], "there is no file 'help'; the help is 'rtp-recv --help'"),
    ])
  func commands(arguments: [String], expected: String) throws {
    let error = try #require(throws: (any Error).self) { try RTPRecv.parseAsRoot(arguments) }
    #expect(RTPRecv.words(for: error, about: arguments) == expected)
  }

  @Test(
    "what may be a host, or is near to no command, is left to the transports",
    arguments: [["--transport", "rtsp", "flet"], ["nonsense"], ["flea"]])
  func noCommand(arguments: [String]) {
    #expect(throws: Never.self) { try RTPRecv.parseAsRoot(arguments) }
  }
}
