import Outputs
import Testing

@testable import CommandLineTool
@testable import RTPProcessor

@Suite("What is reported of the time between two lines of statistics")
struct IntervalCountersTests {
  @Test("an estimate that falls has not grown")
  func fallenEstimate() {
    func counters(leftOut: UInt64, delivered: UInt64) -> IntervalCounters {
      var (counters, statistics) = (IntervalCounters(), ReceptionStatistics())
      statistics.leftOut = leftOut
      statistics.delivered = delivered
      counters.reception = statistics
      return counters
    }
    let line = counters(leftOut: 0, delivered: 30)
      .json(since: counters(leftOut: 17, delivered: 10)).text
    #expect(line.contains(#""left_out_by_sender":0,"#))
    #expect(line.contains(#""delivered":20,"#))
  }
}
