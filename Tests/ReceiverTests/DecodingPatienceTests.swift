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
    var (now, looks): (Int64, Int) = (0, 0)
    while let rest = patience.rest(
      decoded: UInt64(done.count { $0 <= now }), mayAwaitDisk: mayAwaitDisk, at: instant(now))
    {
      // Woken by the next one that is done, or when the time is over.
      let due = now + rest.components.seconds
      now = done.first { now < $0 && $0 <= due } ?? due
      looks += 1
    }
    #expect(now == end)
    #expect(looks == done.count + 1, "nobody looks when nothing has happened")
  }
}
