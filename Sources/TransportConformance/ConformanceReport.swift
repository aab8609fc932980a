/// The results of a check, clause by clause; it prints as a table.
public struct ConformanceReport: Sendable, CustomStringConvertible {
  public enum Outcome: Sendable, Hashable {
    case passed
    /// The carrier does not allow it, for this reason.
    case notApplicable(String)
    /// What was observed instead.
    case failed([String])
  }

  /// The name of the transport, from its subject.
  public let subject: String
  /// The seed of the random choices: the same seed repeats them.
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
