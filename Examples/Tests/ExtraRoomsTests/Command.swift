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
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["timeout", "60", program] + arguments.split(separator: " ").map(String.init)
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(program) \(arguments)")
    return String(decoding: data, as: UTF8.self)
  }
}
