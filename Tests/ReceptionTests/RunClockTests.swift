import RTPWire
import Testing

@testable import Reception

struct RunClockTests {
  private func clock(
    first: Duration? = nil, more: Duration? = nil, everything: Duration? = nil
  ) -> RunClock {
    var configuration = Reception.Configuration()
    configuration.firstMediaTimeout = first
    configuration.silenceTimeout = more
    configuration.duration = everything
    return RunClock(of: configuration, on: Reception.Carrier(), at: Instant(nanoseconds: 0))
  }

  private func ending(_ clock: RunClock) -> String {
    guard let (time, reason) = clock.ending else { return "never" }
    return "\(reason) at \(Double(time.nanoseconds) / 1e9)"
  }

  @Test func whatEndsARunFirst() {
    var clock = clock(first: .seconds(3), more: .seconds(2), everything: .seconds(10))
    #expect(ending(clock) == "noMedia(after: 3.0 seconds) at 3.0")
    clock.noteMedia(at: Instant(nanoseconds: 1_000_000_000))
    #expect(ending(clock) == "mediaLost(after: 2.0 seconds) at 3.0")
    clock.noteMedia(at: Instant(nanoseconds: 9_500_000_000))
    #expect(ending(clock) == "durationReached at 11.0")
    #expect(ending(self.clock()) == "never")
    var patient = self.clock(first: .seconds(3))
    patient.noteMedia(at: Instant(nanoseconds: 1))
    #expect(ending(patient) == "never")
  }
}
