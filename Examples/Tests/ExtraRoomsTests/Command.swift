import Foundation
import Testing

/// Programs that the tests run.
enum Command {
  /// A program of this package, which lies beside the test bundle.
  static func path(of name: String) -> String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
      folder.deleteLastPathComponent()
    }
    return name
  }

  /// Runs a program to its end, a minute at most, and returns what it wrote.
  @discardableResult
  static func run(_ program: String, _ arguments: String) throws -> String {
    let output = Pipe()
    let process = Self.process(program, arguments)
    process.standardOutput = output
    let (status, text) = try outcome(of: process, writingTo: output)
    #expect(status == 0, "\(program) \(arguments)")
    return text
  }

  /// Runs a program that cannot do what it is asked to; returns its exit status and its complaint.
  static func complaint(
    of program: String, _ arguments: String
  ) throws -> (status: Int32, text: String) {
    let errors = Pipe()
    let process = Self.process(program, arguments)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    return try outcome(of: process, writingTo: errors)
  }

  private static func process(_ program: String, _ arguments: String) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["timeout", "60", program] + arguments.split(separator: " ").map(String.init)
    process.standardInput = FileHandle.nullDevice
    return process
  }

  private static func outcome(
    of process: Process, writingTo pipe: Pipe
  ) throws -> (status: Int32, text: String) {
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }
}
