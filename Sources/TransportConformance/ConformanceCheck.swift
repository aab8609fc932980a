internal import Transports

/// Checks every clause of the contract of `RTPTransport` on transports that `subject` makes.
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
  let context = CheckContext(
    subject: subject, packets: TestPackets(seed: seed), results: ConformanceResults())
  let cases = ConformanceCase.all(seed: seed).filter { testCase in
    testCase.needs.allSatisfy { subject.carrier.lacks[$0] == nil }
  }
  // Cases that mostly wait run in parallel.
  await withTaskGroup(of: Void.self) { group in
    for testCase in cases where testCase.kind == .waiting {
      group.addTask { await testCase.run(in: context) }
    }
    for testCase in cases where testCase.kind == .ordinary { await testCase.run(in: context) }
  }
  for testCase in cases where testCase.kind == .exclusive { await testCase.run(in: context) }
  return ConformanceReport(
    subject: subject.name, seed: seed, outcomes: context.results.outcomes(for: subject.carrier))
}
