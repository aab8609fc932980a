import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Testing

@testable import Receiver

/// Every counter of a struct is in the struct's table, under a unique name.
struct CounterTableTests {
  private func check<Statistics: Counted>(_ statistics: Statistics) {
    let stored = Mirror(reflecting: statistics).children.count { $0.value is UInt64 }
    let names = Statistics.counters.map(\.name)
    #expect(names.count == stored, "\(Statistics.self)")
    #expect(Set(names).count == names.count, "\(Statistics.self)")
    #expect(Set(Statistics.counters.map { $0.path as AnyKeyPath }).count == names.count)
    #expect(statistics.isBalanced, "\(Statistics.self)")
  }

  @Test func noCounterIsForgotten() {
    let reception = RTPProcessor(configuration: RTPProcessor.Configuration()).statistics
    check(reception)
    check(reception.repair)
    check(reception.errorCorrection)
    check(DefragmentStatistics())
    check(SoundStatistics())
    check(DeliveryStatistics())
    check(OutputCounters())
  }
}
