import ArgumentParser
import RTPSend
import Transports

/// The exit statuses of `rtp-send`, as `--help` names them.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case sourceFailed = 1
  case networkFailed = 2
  case outputFailed = 6
  case noLibrary = 17
  case usage = 64

  var meaning: String {
    switch self {
    case .done: "all sent, or stopped by SIGINT or SIGTERM"
    case .sourceFailed: "the source cannot be opened, read or encoded"
    case .networkFailed: "the address is not known, cannot be bound, or cannot be sent to"
    case .outputFailed: "the SDP file or the statistics cannot be written"
    case .noLibrary: "a library is too old for this program"
    case .usage: "the command line is wrong"
    }
  }

  /// The table for `--help`.
  static var table: String {
    allCases.map { "  \($0.rawValue < 10 ? " " : "")\($0.rawValue)  \($0.meaning)" }
      .joined(separator: "\n")
  }

  var code: ExitCode { ExitCode(rawValue) }

  /// The status for `error`.
  init(_ error: any Error) {
    switch error {
    case SendError.network: self = .networkFailed
    case is OutputError: self = .outputFailed
    case is SRTPError: self = .usage
    default: self = .sourceFailed
    }
  }
}
