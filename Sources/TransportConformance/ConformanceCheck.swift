internal import Transports

/// Checks every clause of the contract of ``RTPTransport`` on transports that `subject` makes.
///
/// It takes some seconds, and as long as a silent far end is waited for. Descriptors, threads and
/// memory are counted of the whole process, so a check is best not run beside others.
///
/// - Parameters:
///   - subject: makes transports and their far ends, and says what carries the packets.
///   - seed: what random choices come from; the report says which it was.
/// - Returns: what was seen, clause by clause.
public func checkConformance(
  of subject: some ConformanceSubject, seed: UInt64 = .random(in: 1...999_999)
) async -> ConformanceReport {
  let house = Stage.House(
    subject: subject, packets: TestPackets(seed: seed), journal: Journal())
  let scenes = Scene.all(seed: seed).filter { scene in
    scene.needs.allSatisfy { subject.carrier.lacks[$0] == nil }
  }
  // Those that mostly wait do so beside the others.
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

/// Something that is done with one transport or a few, to see what comes of it.
struct Scene: Sendable {
  enum Kind: Sendable, Hashable {
    case ordinary
    /// It waits more than it does.
    case patient
    /// It counts what the process has.
    case alone
  }

  let clause: ConformanceClause
  var kind = Kind.ordinary
  /// Without these there is no such scene.
  var needs: [Carrier.Capability] = []
  let perform: @Sendable (Stage.House) async throws -> Void

  /// Plays the scene; what keeps it from being played counts against its clause.
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
