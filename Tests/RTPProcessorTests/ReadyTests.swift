import RTPWire
import Testing

@testable import RTPProcessor

/// What is in order and not taken yet leaves in the order in which it came.
struct ReadyTests {
  @Test(
    "packets leave in order, however many wait",
    arguments: [
      // So many come, so many are taken, and so on.
      [1, 1, 1, 1], [3, 3], [3, 1, 1, 1, 2, 4], [2, 1, 1, 2], [40, 39, 1, 2, 1, 1],
    ])
  func order(steps: [Int]) throws {
    let packet = try RTPPacket(parsing: SentPacket(sequence: 1).bytes)
    var ready = Source.Ready()
    var (came, taken) = (0, 0)
    for (place, count) in steps.enumerated() {
      for _ in 0..<count {
        if place.isMultiple(of: 2) {
          ready.append(
            OrderedPacket(
              packet: packet, extendedSequence: Int64(came),
              time: MediaTime(ticks: 0, timescale: 90_000), arrival: Instant(nanoseconds: 0)))
          came += 1
        } else {
          let next = ready.popFirst()
          #expect(next?.extendedSequence == Int64(taken))
          taken += 1
        }
      }
    }
    let rest = ready.popFirst()
    #expect(came == taken && rest?.extendedSequence == nil)
  }
}
