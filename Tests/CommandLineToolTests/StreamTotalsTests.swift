import Testing

@testable import CommandLineTool

@Suite("What is shown of a stream between two moments")
struct StreamTotalsTests {
  private static func totals(at seconds: Int, accessUnits: UInt64) -> StreamTotals {
    var totals = StreamTotals()
    totals.seconds = Double(seconds)
    totals.accessUnits = accessUnits
    return totals
  }

  @Test("a rate is what came, through the time that it took")
  func rate() {
    let change = Self.totals(at: 14, accessUnits: 130)
      .since(Self.totals(at: 10, accessUnits: 30))
    #expect(change.accessUnits == 100)
    #expect(change.perSecond(\.accessUnits) == 25)
  }

  @Test("a counter that begins again counts for nothing, and no time makes no rate")
  func beginning() {
    let former = Self.totals(at: 10, accessUnits: 30)
    #expect(Self.totals(at: 11, accessUnits: 4).since(former).accessUnits == 0)
    #expect(Self.totals(at: 10, accessUnits: 40).since(former).perSecond(\.accessUnits) == 0)
    #expect(Self.totals(at: 2, accessUnits: 4).since(former).seconds == 0)
    #expect(StreamTotals().since(StreamTotals()).lossPercentage == 0)
  }
}
