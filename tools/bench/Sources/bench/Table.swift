import Foundation

/// A number with `digits` decimal places.
func number(_ value: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }

/// Prints a row of a table in Markdown, and keeps it for the files of a whole run.
func row(_ cells: [String]) {
  Results.current.withLock { results in
    if !results.tables.isEmpty { results.tables[results.tables.count - 1].rows.append(cells) }
  }
  show(cells)
}

private func show(_ cells: [String]) {
  print("| " + cells.joined(separator: " | ") + " |")
  fflush(nil)
}

/// Prints the head of a table; all columns except `names` are aligned to the right.
func head(_ title: String, _ columns: [String], names: Set<String> = ["receiver"]) {
  let bench = Results.bench.withLock(\.self)
  Results.current.withLock {
    $0.tables.append(Results.Table(bench: bench, title: title, columns: columns))
  }
  print("\n## \(title)\n")
  show(columns)
  show(columns.map { names.contains($0) ? "---" : "---:" })
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// Measures every peer `rounds` times, round by round and not peer by peer, so that a slow minute
/// of the machine affects all peers.
func inRounds<Peer, Result>(
  _ rounds: Int, _ peers: [Peer], _ body: (Peer) throws -> Result
) rethrows -> [[Result]] {
  var results: [[Result]] = peers.map { _ in [] }
  for _ in 0..<rounds {
    for (index, peer) in peers.enumerated() { results[index].append(try body(peer)) }
  }
  return results
}
