import RTPWire
import Testing

@testable import Receiver

struct DecodingPatienceTests {
  /// When an access unit is done, in seconds after the end of the stream, and when it is given up.
  @Test(
    "a stalled disk is waited for longer than a reader, as long as a process that starts",
    arguments: [
      ([1], false, 3), ([1, 2, 4], false, 6), ([1], true, 11), ([1, 9, 18], true, 28),
      ([], false, 10), ([], true, 10), ([9], false, 11),
    ] as [([Int64], Bool, Int64)])
  func patience(done: [Int64], mayAwaitDisk: Bool, end: Int64) {
    func instant(_ second: Int64) -> Instant { Instant(nanoseconds: second * 1_000_000_000) }
    var patience = DecodingPatience(at: instant(0))
    var givenUp: Int64?
    for second in 0...60 as ClosedRange<Int64> where givenUp == nil {
      let isOver = patience.isOver(
        decoded: UInt64(done.count { $0 <= second }), mayAwaitDisk: mayAwaitDisk,
        at: instant(second))
      if isOver { givenUp = second }
    }
    #expect(givenUp == end)
  }
}
