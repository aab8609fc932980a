import Testing

@testable import CommandLineTool

/// What is told of something that fails again and again.
struct RepeatedFailureTests {
  private static let start = ContinuousClock.now

  @Test("a reason is told once while it stays the same, and with how often after an hour")
  func oneReason() {
    var failure = RepeatedFailure()
    #expect(failure.words(on: "no folder", at: Self.start) == "no folder; it is tried again")
    for second in 1..<3600 where second.isMultiple(of: 30) {
      #expect(failure.words(on: "no folder", at: Self.start + .seconds(second)) == nil)
    }
    #expect(
      failure.words(on: "no folder", at: Self.start + .seconds(3600))
        == "no folder; it is tried again (121 times so far)")
    #expect(failure.words(on: "no folder", at: Self.start + .seconds(7199)) == nil)
  }

  @Test("how many packets came makes no other reason")
  func counts() {
    var failure = RepeatedFailure()
    #expect(failure.note("no media; 1 packet came", at: Self.start) == 1)
    #expect(failure.note("no media; 371 packets came", at: Self.start) == nil)
    #expect(failure.note("stream 1 is not there", at: Self.start) == 1)
    #expect(failure.note("stream 2 is not there", at: Self.start) == 1)
  }

  @Test("another reason is told at once, and so is the first one behind it, or after a success")
  func otherReason() {
    var failure = RepeatedFailure()
    #expect(failure.note("no folder", at: Self.start) == 1)
    #expect(failure.note("disk full", at: Self.start) == 1)
    #expect(failure.note("no folder", at: Self.start) == 1)
    #expect(failure.note("no folder", at: Self.start) == nil)
    failure.forget()
    #expect(failure.note("no folder", at: Self.start) == 1)
  }
}
