import Foundation

/// The core by itself: packets in memory become access units, on one thread.
enum Core {
  private struct Line {
    let name: String
    let nanoseconds: Double
    let allocations: Double

    init?(_ text: Substring) {
      let words = text.split(separator: " ")
      guard words.count == 4, let time = Double(words[2]), let count = Double(words[3]) else {
        return nil
      }
      name = "\(words[0]), \(words[1].replacing("-", with: " "))"
      (nanoseconds, allocations) = (time, count)
    }
  }

  static func report(rounds: Int, in _: String) throws {
    head(
      "The core alone, packets of 1200 bytes, medians of \(rounds) rounds",
      ["packets", "µs a packet", "allocations a packet"], names: ["packets"])
    let runs = try (0..<rounds).map { _ in
      let output = try Running(["../../Examples/.build/release/core-cost"]).waitUntilExit()
      return output.split(separator: "\n").compactMap { Line($0) }
    }
    guard let first = runs.first, !first.isEmpty else {
      throw BenchError(description: "there is no core-cost; tools/bench/run builds it")
    }
    for (index, line) in first.enumerated() {
      let times = runs.compactMap { $0.indices.contains(index) ? $0[index].nanoseconds : nil }
      row([line.name, number(median(times) / 1000, 2), number(line.allocations, 2)])
    }
  }
}
