import RTPWire
import Testing

@testable import RTPSend

/// What is said of clients, on a virtual clock.
struct NewsAllowanceTests {
  private func instant(milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func aClientThatComesAndGoesInALoopMakesFewLines() {
    var allowance = NewsAllowance()
    var told = 0
    var leftOut = 0
    // A thousand a second, for ten seconds.
    for number in 0..<10_000 as Range<Int64> {
      guard let before = allowance.admit(at: instant(milliseconds: number)) else { continue }
      (told, leftOut) = (told + 1, leftOut + before)
    }
    #expect(told >= NewsAllowance.inARow + 15)
    #expect(told <= NewsAllowance.inARow + 10 * NewsAllowance.perSecond)
    leftOut += allowance.takeLeftOut()
    #expect(told + leftOut == 10_000)
    let again = allowance.takeLeftOut()
    #expect(again == 0)
  }

  @Test func whatPeopleDoIsSaidInFull() {
    var allowance = NewsAllowance()
    for number in 0..<10_000 as Range<Int64> {
      let leftOut = allowance.admit(at: instant(milliseconds: number * 600))
      #expect(leftOut == 0)
    }
  }

  @Test func afterAFloodTheNumberIsSaidWithTheNextClient() {
    var allowance = NewsAllowance()
    for _ in 0..<NewsAllowance.inARow + 7 { _ = allowance.admit(at: instant(milliseconds: 0)) }
    let next = allowance.admit(at: instant(milliseconds: 60_000))
    #expect(next == 7)
    // A minute is enough for as many as before.
    var left = NewsAllowance.inARow - 1
    while allowance.admit(at: instant(milliseconds: 60_000)) == 0 { left -= 1 }
    #expect(left == 0)
  }
}
