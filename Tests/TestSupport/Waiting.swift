import Foundation
import Glibc

/// What a test waited for did not happen in time.
public struct TimedOut: Error, CustomStringConvertible {
  public let description: String

  public init(description: String) { self.description = description }
}

/// Waits until `condition` holds, for what tells nobody when it changes.
///
/// - Throws: ``TimedOut`` after `limit`, and what `condition` throws.
public func eventually(
  _ what: @autoclosure () -> String = "what is waited for", within limit: Duration = .seconds(60),
  file: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
) async throws {
  try await eventualValue(of: what(), within: limit, file: file, line: line) {
    try await condition() ? () : nil
  }
}

/// Waits until there is a value.
///
/// - Throws: ``TimedOut`` after `limit`, and what `value` throws.
@discardableResult
public func eventualValue<Value>(
  of what: @autoclosure () -> String = "what is waited for", within limit: Duration = .seconds(60),
  file: String = #fileID, line: Int = #line, _ value: () async throws -> Value?
) async throws -> Value {
  let deadline = ContinuousClock.now + limit
  while true {
    if let value = try await value() { return value }
    guard ContinuousClock.now < deadline else {
      throw TimedOut(description: "\(file):\(line): not within \(limit): \(what())")
    }
    try await Task.sleep(for: .milliseconds(2))
  }
}

/// The same where a test has a thread of its own to wait on.
public func waitUntil(
  _ what: @autoclosure () -> String, within limit: Duration = .seconds(60),
  file: String = #fileID, line: Int = #line, _ condition: () throws -> Bool
) throws {
  let deadline = ContinuousClock.now + limit
  while try !condition() {
    guard ContinuousClock.now < deadline else {
      throw TimedOut(description: "\(file):\(line): not within \(limit): \(what())")
    }
    usleep(10_000)
  }
}

/// The result of `body`, or an error when there is none in time.
public func withDeadline<Value: Sendable>(
  _ limit: Duration = .seconds(60), file: String = #fileID, line: Int = #line,
  _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      throw TimedOut(description: "\(file):\(line): not within \(limit)")
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}
