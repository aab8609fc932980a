import Testing

@testable import Receiver

/// What waits before a loop over elements that is too slow.
struct HandoverTests {
  /// A sender of datagrams cannot be held, and a loop may never come back.
  @Test("where none is to be dropped, what waits is bounded, and goes on with a beginning")
  func bound() async {
    let handover = Handover<Int>(.everyOne, isBeginning: { $0.isMultiple(of: 100) })
    let taken = (0..<1000).count { handover.offer($0) }
    #expect(taken == 512)
    for expected in 0..<512 { #expect(await handover.next() == expected) }
    #expect((1001..<1100).allSatisfy { !handover.offer($0) })
    #expect(handover.offer(1100) && handover.offer(1101))
    #expect(await handover.next() == 1100)
    #expect(await handover.next() == 1101)
  }

  @Test("large elements are bounded by their bytes, one of any size has room alone")
  func bytes() async {
    let handover = Handover<Int>(.everyOne, size: { $0 })
    #expect(handover.offer(100 << 20))
    #expect(!handover.offer(1))
    #expect(await handover.next() == 100 << 20)
    #expect(handover.offer(20 << 20) && handover.offer(10 << 20) && !handover.offer(10 << 20))
  }
}
