import ArgumentParser
import Decode
import Outputs
import Receiver

/// The exit statuses of `rtp-recv`, as `--help` and the guides name them.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case failed = 1
  case cannotOpen = 2
  case credentialsRefused = 3
  case noMedia = 4
  case mediaLost = 5
  case outputFailed = 6
  case readerGone = 7
  case formatChanged = 8
  case unrecognizedMedia = 9
  case notTrusted = 10
  case redirectRefused = 11
  case noSuchStream = 12
  case framesMissing = 13
  case forced = 14
  case expectationBroken = 15
  case notMeasured = 16
  case noLibrary = 17
  case usage = 64

  var meaning: String {
    switch self {
    case .done: "done, or stopped by SIGINT, SIGTERM or SIGHUP (but see --reconnect)"
    case .failed: "the stream broke off for a reason not listed here"
    case .cannotOpen: "the source could not be opened"
    case .credentialsRefused: "a login, or an SRTP key that is asked for, is missing or refused"
    case .noMedia: "no media came within --timeout, or none that made a picture"
    case .mediaLost: "media came, and then none for --timeout"
    case .outputFailed: "an output could not be written, or has holes (disk full, no permission)"
    case .readerGone: "the reader of a pipe went away"
    case .formatChanged: "the stream changed (size, coding, sound) as an output cannot express"
    case .unrecognizedMedia:
      "no known codec, not the one that was said, or SRTP that nothing announced"
    case .notTrusted: "the server, or all that came, could not be verified (TLS, SRTP)"
    case .redirectRefused: "the server redirects too often, or to where it must not be followed"
    case .noSuchStream:
      "there is no such stream: wrong path, number or flow, no video or camera"
    case .framesMissing: "the run ended before as many frames came as --frames asks for"
    case .forced: "a second signal ended the run at once, or Ctrl-C instead of a password"
    case .expectationBroken: "the run went well, but a rule of --expect does not hold"
    case .notMeasured: "the run went well, but a rule of --expect could not be measured"
    case .noLibrary: "a library is missing, or too old for this program"
    case .usage: "the command line is wrong"
    }
  }

  /// The table for `--help`.
  static var table: String {
    allCases.map { status in
      let number = String(status.rawValue)
      return "  " + String(repeating: " ", count: max(0, 2 - number.count)) + number + "  "
        + status.meaning
    }.joined(separator: "\n")
  }

  var code: ExitCode { ExitCode(rawValue) }
}
