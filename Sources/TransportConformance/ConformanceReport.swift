/// What a check of conformance came to, clause by clause; it prints as a table.
public struct ConformanceReport: Sendable, CustomStringConvertible {
  public enum Outcome: Sendable, Hashable {
    case passed
    /// The carrier cannot have it, for this reason.
    case notApplicable(String)
    /// What was seen instead, in words.
    case failed([String])
  }

  /// The transport, as its subject calls it.
  public let subject: String
  /// What the random choices came from: the same seed makes the same ones.
  public let seed: UInt64
  public let outcomes: [ConformanceClause: Outcome]

  /// Whether no clause has failed.
  public var isConforming: Bool { failures.isEmpty }

  /// The clauses that have failed.
  public var failures: [ConformanceClause] {
    ConformanceClause.allCases.filter { clause in
      if case .failed = outcomes[clause] { true } else { false }
    }
  }

  public var description: String {
    var lines = ["conformance of \(subject) (seed \(seed))"]
    for clause in ConformanceClause.allCases {
      switch outcomes[clause] {
      case .passed: lines.append("  passed         \(clause): \(clause.meaning)")
      case .notApplicable(let reason):
        lines.append("  not applicable \(clause): \(reason)")
      case .failed(let seen):
        lines.append("  FAILED         \(clause): \(clause.meaning)")
        lines += seen.map { "                 - \($0)" }
      case nil: break
      }
    }
    return lines.joined(separator: "\n")
  }
}
