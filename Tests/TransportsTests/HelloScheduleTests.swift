import RTPWire
import Testing

@testable import Transports

struct HelloScheduleTests {
  /// What a schedule sends until `end` when it is polled at each of its deadlines, in ms.
  private func run(
    _ schedule: inout HelloSchedule, untilMilliseconds end: Int64
  ) -> (hellos: [Int64], heartbeats: [Int64]) {
    var hellos: [Int64] = []
    var heartbeats: [Int64] = []
    while schedule.deadline.nanoseconds <= end * 1_000_000 {
      let now = schedule.deadline
      while let message = schedule.poll(now: now) {
        switch message {
        case .hello: hellos.append(now.nanoseconds / 1_000_000)
        case .heartbeat: heartbeats.append(now.nanoseconds / 1_000_000)
        }
      }
    }
    return (hellos, heartbeats)
  }

  @Test func helloIsSentAtOnceAndRepeatedWithGrowingPauses() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 0), interval: .seconds(3))
    let sent = run(&schedule, untilMilliseconds: 20_000)
    #expect(sent.hellos == [0, 250, 750, 1750, 3750, 7750, 12_750, 17_750])
    #expect(sent.heartbeats == [3000, 6000, 9000, 12_000, 15_000, 18_000])
  }

  @Test func twentyHellosWithoutAnAnswerAreEnoughAndTheHeartbeatGoesOn() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 0), interval: .seconds(3))
    let sent = run(&schedule, untilMilliseconds: 600_000)
    #expect(sent.hellos.count == 20)
    #expect(sent.heartbeats.count == 200)
  }

  @Test func mediaEndsTheHellosAndNotTheHeartbeat() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 0), interval: .seconds(3))
    #expect(run(&schedule, untilMilliseconds: 300).hellos == [0, 250])
    var heartbeats: [Int64] = []
    for second in 0..<10 as Range<Int64> {
      schedule.mediaArrived(at: Instant(nanoseconds: (second * 1000 + 300) * 1_000_000))
      let sent = run(&schedule, untilMilliseconds: second * 1000 + 1000)
      #expect(sent.hellos.isEmpty)
      heartbeats += sent.heartbeats
    }
    #expect(heartbeats == [3000, 6000, 9000])
  }

  @Test func theHelloComesAgainWhenMediaHasStopped() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 0), interval: .seconds(3))
    _ = run(&schedule, untilMilliseconds: 200_000)
    // Whoever waits for the next heartbeat has to wait for the hello before it.
    let isEarlier = (0..<2).map { _ in
      schedule.mediaArrived(at: Instant(nanoseconds: 200_000_000_000))
    }
    #expect(isEarlier == [true, false])
    let sent = run(&schedule, untilMilliseconds: 600_000)
    #expect(sent.hellos.prefix(4) == [205_000, 205_250, 205_750, 206_750])
    #expect(sent.hellos.count == 20)
  }

  @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(-5), .milliseconds(999)])
  func anIntervalBelowASecondIsASecond(interval: Duration) {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 0), interval: interval)
    schedule.mediaArrived(at: Instant(nanoseconds: 0))
    #expect(run(&schedule, untilMilliseconds: 4000).heartbeats == [1000, 2000, 3000, 4000])
  }

  @Test func aMachineThatSleptSendsOneOfEachAndNotThoseItMissed() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 0), interval: .seconds(3))
    #expect(schedule.poll(now: Instant(nanoseconds: 0)) == .hello)
    let awake = Instant(nanoseconds: 3_600_000_000_000)
    #expect(schedule.poll(now: awake) == .hello)
    #expect(schedule.poll(now: awake) == .heartbeat)
    #expect(schedule.poll(now: awake) == nil)
    #expect(schedule.deadline > awake)
  }

  @Test func nothingIsDueBeforeItsTime() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: 10), interval: .seconds(3))
    #expect(schedule.poll(now: Instant(nanoseconds: 9)) == nil)
    #expect(schedule.poll(now: Instant(nanoseconds: 10)) == .hello)
    #expect(schedule.poll(now: Instant(nanoseconds: 10)) == nil)
  }

  @Test func aClockAtItsEndDoesNotTrap() {
    var schedule = HelloSchedule(start: Instant(nanoseconds: .max), interval: .seconds(3))
    #expect(schedule.poll(now: Instant(nanoseconds: .max)) == .hello)
    #expect(schedule.deadline == Instant(nanoseconds: .max))
  }
}
