import Testing
import TransportConformance

/// The kit finds what is wrong, and nothing else.
@Suite(.serialized) struct KitTests {
  @Test func aTransportThatKeepsTheContractPasses() async {
    let report = await checkConformance(of: Loopback(), seed: 1)
    #expect(report.isConforming, "\(report)")
    #expect(report.outcomes.count == ConformanceClause.allCases.count)
  }

  /// Descriptors, threads and memory belong to the process, so these run alone.
  private static let counted: Set<ConformanceClause> = [.resources, .hostileFarEnd]

  @Test(arguments: Defect.allCases.filter { counted.contains($0.clause) })
  func aDefectIsFoundByTheClauseThatIsAboutIt(defect: Defect) async throws {
    let report = await checkConformance(of: Loopback(defect: defect), seed: 2)
    #expect(report.failures == [defect.clause], "\(report)")
    try await Leaks.giveBack()
  }

  /// Most of the time each of these waits for what does not come.
  ///
  /// What belongs to the process is used by all of them, so that it says nothing about one.
  @Test func theOtherDefectsAreFoundAtTheSameTime() async {
    var defects = Defect.allCases.filter { !Self.counted.contains($0.clause) }[...]
    await withTaskGroup(of: (Defect, ConformanceReport).self) { group in
      func start() {
        guard let defect = defects.popFirst() else { return }
        group.addTask { (defect, await checkConformance(of: Loopback(defect: defect), seed: 2)) }
      }
      for _ in 0..<8 { start() }
      while let (defect, report) = await group.next() {
        let failures = report.failures.filter { !Self.counted.contains($0) }
        #expect(failures == [defect.clause], "\(report)")
        start()
      }
    }
  }

  @Test func everyClauseHasADefectThatBreaksIt() {
    #expect(Set(Defect.allCases.map(\.clause)) == Set(ConformanceClause.allCases))
  }
}
