internal import Synchronization

/// The observations of a check: which clauses were examined, and which were violated.
final class ConformanceResults: Sendable {
  private struct State {
    var examined: Set<ConformanceClause> = []
    var violations: [ConformanceClause: [String]] = [:]
    var losses: [ConformanceClause: [String]] = [:]
  }

  private let state = Mutex(State())

  /// Notes that a clause was examined; without a violation it passes.
  func examined(_ clauses: ConformanceClause...) {
    state.withLock { $0.examined.formUnion(clauses) }
  }

  /// Notes a violation of a clause.
  func violated(_ clause: ConformanceClause, _ seen: String) {
    state.withLock { Self.add(seen, to: &$0.violations[clause, default: []]) }
  }

  /// Notes that packets were lost under the conditions of a clause.
  ///
  /// It counts for that clause only if the transport loses none otherwise.
  func lost(_ clause: ConformanceClause, _ seen: String) {
    state.withLock { Self.add(seen, to: &$0.losses[clause, default: []]) }
  }

  private static func add(_ seen: String, to all: inout [String]) {
    // One case repeats its violations; the first few are enough.
    if all.count < Self.maximumViolations, !all.contains(seen) { all.append(seen) }
  }

  func isViolated(_ clause: ConformanceClause) -> Bool {
    state.withLock { $0.violations[clause] != nil || $0.losses[clause] != nil }
  }

  /// The result of every clause.
  func outcomes(
    for carrier: Carrier
  ) -> [ConformanceClause: ConformanceReport.Outcome] {
    var state = state.withLock { $0 }
    let losesAlways =
      state.violations[.completeness] != nil || state.losses[.completeness] != nil
    for (clause, seen) in state.losses {
      state.violations[losesAlways ? .completeness : clause, default: []] += seen
    }
    var outcomes: [ConformanceClause: ConformanceReport.Outcome] = [:]
    for clause in ConformanceClause.allCases {
      if let seen = state.violations[clause] {
        outcomes[clause] = .failed(seen)
      } else if let reason = clause.capability.flatMap({ carrier.lacks[$0] }) {
        outcomes[clause] = .notApplicable(reason)
      } else if state.examined.contains(clause) {
        outcomes[clause] = .passed
      } else {
        outcomes[clause] = .failed(["it could not be examined"])
      }
    }
    return outcomes
  }

  /// How many violations of one clause are kept.
  private static let maximumViolations = 4
}
