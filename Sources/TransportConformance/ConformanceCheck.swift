internal import Transports

/// Checks every clause of the contract of ``RTPTransport`` on transports that `subject` makes.
///
/// It takes some seconds, plus the time that a silent far end is waited for. Descriptors, threads
/// and memory are those of the whole process, so nothing else should run beside a check.
///
/// - Parameters:
///   - subject: makes transports and their far ends, and describes the carrier.
///   - seed: the seed of random choices, which the report repeats.
/// - Returns: the results, clause by clause.
public func checkConformance(
  of subject: some ConformanceSubject, seed: UInt64 = .random(in: 1...999_999)
) async -> ConformanceReport {
  let house = Stage.House(
    subject: subject, packets: TestPackets(seed: seed), journal: Journal())
  let scenes = Scene.all(seed: seed).filter { scene in
    scene.needs.allSatisfy { subject.carrier.lacks[$0] == nil }
  }
  // Scenes that mostly wait run in parallel.
  await withTaskGroup(of: Void.self) { group in
    for scene in scenes where scene.kind == .patient {
      group.addTask { await scene.play(in: house) }
    }
    for scene in scenes where scene.kind == .ordinary { await scene.play(in: house) }
  }
  for scene in scenes where scene.kind == .alone { await scene.play(in: house) }
  return ConformanceReport(
    subject: subject.name, seed: seed, outcomes: house.journal.outcomes(for: subject.carrier))
}

/// A test with one or a few transports.
struct Scene: Sendable {
  enum Kind: Sendable, Hashable {
    case ordinary
    /// Mostly waits.
    case patient
    /// Counts resources of the process.
    case alone
  }

  let clause: ConformanceClause
  var kind = Kind.ordinary
  /// Without these capabilities, the scene is skipped.
  var needs: [Carrier.Capability] = []
  let perform: @Sendable (Stage.House) async throws -> Void

  /// Plays the scene; an error counts against its clause.
  func play(in house: Stage.House) async {
    do {
      try await perform(house)
    } catch {
      house.journal.violated(clause, "could not be examined: \(error)")
    }
  }

  static func all(seed: UInt64) -> [Scene] {
    delivery(seed: seed) + ends + closing(seed: seed) + farEnds(seed: seed) + resources
  }
}
