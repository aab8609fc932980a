import CoreCost
import Testing

/// The core allocates for access units, and for packets that have to wait, but not for others.
@Suite struct CoreCostTests {
  /// What they are without the optimizer, which takes most of them away (`bench core`).
  private static let known: [(codec: Traffic.Codec, isReordered: Bool, most: Double)] = [
    (.h264, false, 2.3), (.h264, true, 2.9), (.h265, false, 2.4), (.h265, true, 3.0),
  ]

  @Test("no packet costs more allocations than it did", arguments: known)
  func allocations(_ codec: Traffic.Codec, isReordered: Bool, most: Double) throws {
    let cost = try CoreCost(of: Traffic(codec, pictures: 600, isReordered: isReordered))
    #expect(cost.packets == 5100)
    #expect(cost.accessUnits == 510 && cost.wholeUnits == 510)
    #expect(cost.allocationsPerPacket < most, "\(cost.allocationsPerPacket)")
  }
}
