import RTPWire
import Testing

/// Tables of counters, from which sums and balances are derived.
struct CounterTests {
  struct Example: Counted, Hashable {
    var received: UInt64 = 0
    var delivered: UInt64 = 0
    var held: UInt64 = 0
    var greatestDepth: UInt64 = 0

    static let counters: [Counter<Example>] = [
      Counter("received", .packets, \.received, .incoming),
      Counter("delivered", .packets, \.delivered, .outcome),
      Counter("held", .packets, \.held, .outcome, total: .latest),
      Counter("greatest_depth", .packets, \.greatestDepth, total: .greatest),
    ]
  }

  @Test func totalsOfTwoConnections() {
    var later = Example(received: 5, delivered: 4, held: 1, greatestDepth: 2)
    later.add(Example(received: 7, delivered: 7, held: 0, greatestDepth: 9))
    #expect(later == Example(received: 12, delivered: 11, held: 1, greatestDepth: 9))
    #expect(later.isBalanced)
  }

  @Test func whatIsMissingOnOneSideIsSeen() {
    #expect(!Example(received: 5, delivered: 3, held: 1).isBalanced)
    #expect(Example(received: 4, delivered: 3, held: 1, greatestDepth: 8).isBalanced)
  }

  @Test func namesComeInTheOrderOfTheTable() {
    let example = Example(received: 1, delivered: 2, held: 3, greatestDepth: 4)
    #expect(example.counts.map(\.name) == ["received", "delivered", "held", "greatest_depth"])
    #expect(example.counts.map(\.count) == [1, 2, 3, 4])
  }

  @Test func aTotalThatIsTooLargeWrapsAndDoesNotTrap() {
    var example = Example(received: .max)
    example.add(Example(received: 2))
    #expect(example.received == 1)
  }
}
