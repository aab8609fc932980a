import Foundation

/// What a program that ran to its end wrote.
struct Command: Sendable {
  var status: Int32
  var output: String
  var errors: String

  /// Runs `program`, from the PATH or by its path, for at most `seconds`.
  static func run(
    _ program: String, _ arguments: [String], within seconds: Int = 20
  ) throws -> Command {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["timeout", "\(seconds)", program] + arguments
    process.standardInput = FileHandle.nullDevice
    // Files take any amount without a reader.
    let folder = FileManager.default.temporaryDirectory
    let paths = [UUID(), UUID()].map { folder.appendingPathComponent("rtp-recv-\($0)") }
    for path in paths { _ = FileManager.default.createFile(atPath: path.path, contents: nil) }
    defer { for path in paths { try? FileManager.default.removeItem(at: path) } }
    process.standardOutput = try FileHandle(forWritingTo: paths[0])
    process.standardError = try FileHandle(forWritingTo: paths[1])
    try process.run()
    process.waitUntilExit()
    let texts = try paths.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
    return Command(status: process.terminationStatus, output: texts[0], errors: texts[1])
  }
}
