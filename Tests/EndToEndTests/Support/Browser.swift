import Foundation
import TestSupport
import Testing

/// A headless Chromium, driven by `Servers/browser.py`.
final class Browser {
  private let process: RunningProcess
  private let input = Pipe()
  private var asked = 0

  /// A script of the page threw, or the browser did not answer in time.
  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  init() throws {
    let script = try #require(
      Bundle.module.path(forResource: "browser", ofType: "py", inDirectory: "Servers"))
    process = try RunningProcess("python3", [script], input: input)
    try input.fileHandleForReading.close()
  }

  deinit { close() }

  /// What the browser has said of the page: exceptions, refused connections.
  var log: String { process.standardError }

  func resize(_ width: Int, _ height: Int) throws {
    _ = try ask("size \(width) \(height)", as: Bool.self)
  }

  func open(_ url: String) throws { _ = try ask("open \(url)", as: Bool.self) }

  /// The value of `expression`, of a promise when it is there.
  func evaluate<Value: Decodable>(_ expression: String, as type: Value.Type) throws -> Value {
    try ask("evaluate \(expression)", as: type)
  }

  /// Waits until `expression` is true.
  func wait(until expression: String, within seconds: Int = 60) throws {
    guard try ask("until \(seconds) Boolean(\(expression))", as: Bool.self) else {
      throw Failed(description: "not within \(seconds) s: \(expression)\n\(log)")
    }
  }

  func close() {
    try? input.fileHandleForWriting.close()
    _ = try? process.waitForExit()
  }

  private struct Answer<Value: Decodable>: Decodable {
    let value: Value?
    let error: String?
  }

  private func ask<Value: Decodable>(_ line: String, as type: Value.Type) throws -> Value {
    asked += 1
    let text = line.split(whereSeparator: \.isNewline).joined(separator: " ") + "\n"
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try waitUntil("the browser answers \(line)", within: .seconds(90)) {
      process.standardOutput.count { $0 == 0x0A } >= asked
    }
    let lines = process.standardOutput.split(separator: 0x0A)
    let answer = try JSONDecoder().decode(Answer<Value>.self, from: lines[asked - 1])
    guard let value = answer.value else {
      throw Failed(description: "\(line): \(answer.error ?? "nothing")\n\(log)")
    }
    return value
  }
}
