internal import Transports

/// A test of one clause, with one or a few transports.
struct ConformanceCase: Sendable {
  enum Kind: Sendable, Hashable {
    case ordinary
    /// Mostly waits.
    case waiting
    /// Counts resources of the process.
    case exclusive
  }

  let clause: ConformanceClause
  var kind = Kind.ordinary
  /// Without these capabilities, the case is skipped.
  var needs: [Carrier.Capability] = []
  let body: @Sendable (CheckContext) async throws -> Void

  /// Runs the case; an error counts against its clause.
  func run(in context: CheckContext) async {
    do {
      try await body(context)
    } catch {
      context.results.violated(clause, "could not be examined: \(error)")
    }
  }

  static func all(seed: UInt64) -> [ConformanceCase] {
    delivery(seed: seed) + ends + closing(seed: seed) + farEnds(seed: seed) + resources
  }
}
