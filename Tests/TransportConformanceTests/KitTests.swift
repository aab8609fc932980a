import Testing
import TransportConformance

/// The kit finds what is wrong, and nothing else.
@Suite(.serialized) struct KitTests {
  @Test func aTransportThatKeepsTheContractPasses() async {
    let report = await checkConformance(of: Loopback(), seed: 1)
    #expect(report.isConforming, "\(report)")
    #expect(report.outcomes.count == ConformanceClause.allCases.count)
  }

  @Test(arguments: Defect.allCases)
  func aDefectIsFoundByTheClauseThatIsAboutIt(defect: Defect) async throws {
    let report = await checkConformance(of: Loopback(defect: defect), seed: 2)
    #expect(report.failures == [defect.clause], "\(report)")
    try await Leaks.giveBack()
  }

  @Test func everyClauseHasADefectThatBreaksIt() {
    #expect(Set(Defect.allCases.map(\.clause)) == Set(ConformanceClause.allCases))
  }
}
