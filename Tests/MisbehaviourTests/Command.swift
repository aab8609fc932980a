import Foundation
import TestSupport

/// What a program that ran to its end wrote.
struct Command: Sendable {
  var status: Int32
  var output: String
  var errors: String

  /// Runs `program`, from the PATH or by its path, for at most `seconds`.
  static func run(
    _ program: String, _ arguments: [String], within seconds: Int = 20
  ) throws -> Command {
    let process = try RunningProcess(program, arguments)
    let status = try process.waitForExit(within: Double(seconds))
    return Command(
      status: status, output: String(decoding: process.standardOutput, as: UTF8.self),
      errors: process.standardError)
  }
}
