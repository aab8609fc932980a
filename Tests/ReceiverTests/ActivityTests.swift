import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Receiver

@Suite struct ActivityTests {
  /// Long enough that no test waits for its end.
  private static let longTime = Duration.seconds(3600)

  private static func wait(for activity: Activity, notBefore rest: Duration) async {
    await activity.wait(
      notBefore: rest, atMost: longTime, on: MultiThreadedEventLoopGroup.singleton.next())
  }

  @Test(.timeLimit(.minutes(1)))
  func whatIsUrgentIsKnownBeforeTheRestIsOver() async {
    let activity = Activity()
    activity.note()
    async let waiting: Void = Self.wait(for: activity, notBefore: Self.longTime)
    activity.alert()
    await waiting
  }

  /// Programs wait until it is said where a listener listens.
  @Test func aConnectionThatHasOpenedIsKnownBeforeTheRestIsOver() async throws {
    var configuration = Receiver.Configuration()
    configuration.firstMediaTimeout = .never
    let receiver = try Receiver(
      transport: ScriptedTransport(.init(end: nil)), configuration: configuration)
    let run = Task { await receiver.run() }
    try await withDeadline {
      await receiver.waitForActivity(notBefore: Self.longTime, atMost: Self.longTime)
    }
    #expect(await receiver.status().connection.isOpen)
    receiver.stop()
    _ = await run.value
  }

  @Test(.timeLimit(.minutes(1)))
  func whatHasHappenedBeforeTheWaitEndsIt() async {
    let activity = Activity()
    // The second time nothing of the first is left.
    for _ in 0..<2 {
      activity.note()
      await Self.wait(for: activity, notBefore: .zero)
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func activityEndsAWaitAfterTheRest() async {
    let activity = Activity()
    async let waiting: Void = Self.wait(for: activity, notBefore: .milliseconds(1))
    activity.note()
    await waiting
  }

  @Test(.timeLimit(.minutes(1)))
  func whatEndedAWaitDoesNotEndTheNext() async {
    let activity = Activity()
    for isUrgent in [false, true] {
      if isUrgent { activity.alert() } else { activity.note() }
      await Self.wait(for: activity, notBefore: isUrgent ? .zero : .milliseconds(1))
      let start = ContinuousClock.now
      await activity.wait(
        notBefore: .milliseconds(10), atMost: .milliseconds(30),
        on: MultiThreadedEventLoopGroup.singleton.next())
      #expect(start.duration(to: .now) >= .milliseconds(30))
    }
  }
}
