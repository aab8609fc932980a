import Foundation
import Synchronization

/// Everything that a run has measured, for the files that are made of it.
struct Results: Codable {
  struct Table: Codable {
    let bench: String
    let title: String
    let columns: [String]
    var rows: [[String]] = []
  }

  var environment = Environment()
  var command = ""
  var seconds = 0.0
  var tables: [Table] = []
  var figures: [Figure] = []
  /// Measurements that could not be made, and why.
  var failures: [String] = []

  static let current = Mutex(Results())
  /// The name of the measurement that is being made.
  static let bench = Mutex("")
}

/// Records a figure of the measurement that is being made; `nil` and what is not a number are left
/// out.
func figure(
  _ measure: String, unit: String, isLowerBetter: Bool = true,
  _ values: [(Contender, Double?)]
) {
  let known = values.compactMap { contender, value in
    value.flatMap { $0.isFinite ? Figure.Value(contender: contender, value: $0) : nil }
  }
  let bench = Results.bench.withLock(\.self)
  Results.current.withLock {
    $0.figures.append(
      Figure(
        bench: bench, measure: measure, unit: unit, isLowerBetter: isLowerBetter, values: known))
  }
}
