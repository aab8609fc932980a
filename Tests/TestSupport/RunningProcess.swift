public import Foundation

/// A program started by a test: its output is collected line by line, every wait has a deadline,
/// and it is killed with the object if it has not ended.
public final class RunningProcess: @unchecked Sendable {
  /// It exited with another status than 0.
  public struct Failed: Error, CustomStringConvertible {
    public let description: String
  }

  private let process = Process()
  private let condition = NSCondition()
  private var output = Data()
  private var errors = Data()
  private var openStreams = 2
  private var hasExited = false
  private let name: String

  /// Starts `program`, found on the PATH unless it is a path, with `arguments`.
  ///
  /// It reads `input`, a file or a pipe, or nothing; `environment` is added to this program's own.
  public init(
    _ program: String, _ arguments: [String], input: Any? = nil, environment: [String: String] = [:]
  ) throws {
    name = program
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardInput = input ?? FileHandle.nullDevice
    let outputPipe = Pipe()
    let errorPipe = Pipe()
    process.standardOutput = outputPipe
    process.standardError = errorPipe
    process.terminationHandler = { [weak self] _ in
      self?.locked { $0.hasExited = true }
    }
    try process.run()
    // Otherwise hundreds would stay open in the end, which breaks Foundation's `Process`.
    try? outputPipe.fileHandleForWriting.close()
    try? errorPipe.fileHandleForWriting.close()
    collect(outputPipe.fileHandleForReading) { $0.output.append($1) }
    collect(errorPipe.fileHandleForReading) { $0.errors.append($1) }
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  public var processIdentifier: Int32 { process.processIdentifier }

  /// What the program has written to standard output so far.
  public var standardOutput: Data { locked { $0.output } }

  /// What the program has written to standard error so far.
  public var standardError: String { locked { String(decoding: $0.errors, as: UTF8.self) } }

  public func send(signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for a line on either output that matches `pattern`, and returns the match.
  public func waitForLine<Match>(
    _ pattern: Regex<Match>, within seconds: Double = 60
  ) throws -> Regex<Match>.Match {
    try wait(within: seconds, for: "a line that matches") { state in
      let text =
        String(decoding: state.errors, as: UTF8.self)
        + String(decoding: state.output.prefix(1 << 16), as: UTF8.self)
      return text.firstMatch(of: pattern)
    }
  }

  /// Waits until the program has ended and its outputs are read whole; returns its exit status.
  @discardableResult
  public func waitForExit(within seconds: Double = 60) throws -> Int32 {
    try wait(within: seconds, for: "the end") { $0.hasExited && $0.openStreams == 0 ? () : nil }
    return process.terminationStatus
  }

  /// Runs `program` to its end, and returns what it wrote to standard output.
  ///
  /// - Throws: ``Failed`` when it does not exit with 0, ``TimedOut`` when it does not end.
  public static func output(
    of program: String, _ arguments: [String], input: Any? = nil, within seconds: Double = 60
  ) throws -> Data {
    let process = try RunningProcess(program, arguments, input: input)
    try process.waitForExit(within: seconds)
    return try process.outcome()
  }

  /// The same for a program that runs already, without a thread that waits among those of tasks.
  public func finished(within seconds: Double = 60) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [self] in
        continuation.resume(
          with: Result {
            try waitForExit(within: seconds)
            return try outcome()
          })
      }
    }
  }

  private func outcome() throws -> Data {
    guard process.terminationStatus == 0 else {
      throw Failed(description: "\(name): \(process.terminationStatus): \(standardError)")
    }
    return standardOutput
  }

  private func collect(
    _ handle: FileHandle, append: @escaping @Sendable (RunningProcess, Data) -> Void
  ) {
    Thread.detachNewThread { [weak self] in
      defer { try? handle.close() }
      while true {
        let data = handle.availableData
        guard let self else { return }
        self.locked { process in
          if data.isEmpty { process.openStreams -= 1 } else { append(process, data) }
        }
        if data.isEmpty { return }
      }
    }
  }

  private func locked<Value>(_ body: (RunningProcess) -> Value) -> Value {
    condition.lock()
    defer {
      condition.broadcast()
      condition.unlock()
    }
    return body(self)
  }

  private func wait<Value>(
    within seconds: Double, for what: String, _ check: (RunningProcess) throws -> Value?
  ) throws -> Value {
    let deadline = Date(timeIntervalSinceNow: seconds)
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let value = try check(self) { return value }
      guard condition.wait(until: deadline) else {
        let text = String(decoding: errors.suffix(2000), as: UTF8.self)
        throw TimedOut(
          description: "\(name): waited \(seconds) s in vain for \(what); it said: \(text)")
      }
    }
  }
}

/// The programs of this package, beside the test bundle that is running.
public enum Product {
  public static let rtpRecv = path(of: "rtp-recv")
  public static let rtpSend = path(of: "rtp-send")

  private static func path(of name: String) -> String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
      folder.deleteLastPathComponent()
    }
    return name
  }
}
