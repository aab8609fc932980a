import Foundation
import TestSupport
import Testing

/// One line of `--stats`, read back.
struct Statistics {
  private let object: [String: Any]

  /// Reads the last line that `process` has written to standard output.
  init(lastLineOf process: RunningProcess) throws {
    let text = String(decoding: process.standardOutput, as: UTF8.self)
    self = try Self(#require(text.split(separator: "\n").last))
  }

  /// Reads a file of one line.
  init(lineIn path: String) throws {
    self = try Self(Substring(String(contentsOfFile: path, encoding: .utf8)))
  }

  /// Reads all of them.
  static func lines(of process: RunningProcess) throws -> [Statistics] {
    try String(decoding: process.standardOutput, as: UTF8.self).split(separator: "\n").map {
      try Statistics($0)
    }
  }

  private init(_ line: Substring) throws {
    let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
    object = try #require(value as? [String: Any])
  }

  /// The number at `path`, or −1.
  subscript(path: String...) -> Int { value(at: path) as? Int ?? -1 }

  /// The time in seconds at `path`, or −1.
  func seconds(_ path: String...) -> Double { value(at: path) as? Double ?? -1 }

  private func value(at path: [String]) -> Any? {
    var value: Any? = object
    for name in path { value = (value as? [String: Any])?[name] }
    return value
  }
}
