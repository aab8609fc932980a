import Foundation

/// The arguments of this program.
enum Arguments {
  static let all = Array(CommandLine.arguments.dropFirst())
  static let isAll = all.contains("all")
  /// Whether it is only tried whether everything works.
  static let isQuick = all.contains("--quick")
  static let rounds = value(of: "--rounds").flatMap { Int($0) } ?? (isQuick ? 1 : nil)

  static func contains(_ name: String) -> Bool { all.contains(name) }

  static func value(of option: String) -> String? {
    all.firstIndex(of: option).flatMap { all.indices.contains($0 + 1) ? all[$0 + 1] : nil }
  }
}

/// Something that this program measures.
struct Measurement {
  let name: String
  let rounds: Int
  /// As many as a run of all of them has time for.
  let roundsInAll: Int
  private let report: (Int, String) throws -> Void

  init(
    _ name: String, rounds: Int = 3, inAll roundsInAll: Int? = nil,
    _ report: @escaping (Int, String) throws -> Void
  ) {
    (self.name, self.rounds, self.report) = (name, rounds, report)
    self.roundsInAll = roundsInAll ?? rounds
  }

  func make(rounds: Int, in folder: String) throws {
    Results.bench.withLock { $0 = name }
    try report(rounds, folder)
  }

  /// Makes `measurements` one after the other, and writes what they found.
  ///
  /// One that fails is reported, and the others go on.
  static func makeAll(_ measurements: [Measurement], in folder: String) throws {
    let start = Latency.now()
    let environment = Environment.asked()
    for measurement in measurements {
      let began = Latency.now()
      do {
        try measurement.make(
          rounds: Arguments.rounds ?? measurement.roundsInAll, in: folder)
      } catch {
        Results.current.withLock { $0.failures.append("\(measurement.name): \(error)") }
        tell("\(measurement.name) failed: \(error)")
      }
      tell("\(measurement.name) took \(number(Latency.now() - began, 0)) s")
    }
    let results = Results.current.withLock { results in
      results.environment = environment
      results.command = (["tools/bench/run"] + Arguments.all).joined(separator: " ")
      results.seconds = Latency.now() - start
      return results
    }
    let output = Arguments.value(of: "--output") ?? "../../.build/bench"
    let publication = Publication(results: results)
    try publication.write(to: output)
    tell("all took \(number(results.seconds / 60, 1)) minutes; the results are in \(output)")
    guard results.failures.isEmpty else {
      throw BenchError(description: "not measured: " + results.failures.joined(separator: "; "))
    }
    if Arguments.contains("--readme") { try publication.renew("../../README.md") }
  }

  private static func tell(_ words: String) {
    FileHandle.standardError.write(Data("bench: \(words)\n".utf8))
  }
}
