import NIOCore
import Testing

@testable import RTPSend

/// When late tasks of an event loop leave it to its sockets.
struct LoopTurnsTests {
  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
  private static func after(_ microseconds: Int64) -> NIODeadline {
    start + .microseconds(microseconds)
  }

  @Test("what is not due waits until then")
  func early() {
    var turns = LoopTurns()
    #expect(turns.deadline(for: Self.after(5), at: Self.start) == Self.after(5))
  }

  @Test("all that is late waits for the same pause")
  func late() {
    var turns = LoopTurns()
    let pauses = (0..<3).map { turns.deadline(for: Self.start, at: Self.after($0)) }
    #expect(pauses == Array(repeating: Self.after(50), count: 3))
  }

  @Test("after a pause, what is late runs for 10 ms, and then pauses again")
  func again() {
    var turns = LoopTurns()
    let end = turns.deadline(for: Self.start, at: Self.start)
    for passed in [1, 9_999] as [Int64] {
      let now = end + .microseconds(passed)
      #expect(turns.deadline(for: Self.start, at: now) < now)
    }
    let now = end + .milliseconds(10)
    #expect(turns.deadline(for: Self.start, at: now) == now + .microseconds(50))
  }
}
