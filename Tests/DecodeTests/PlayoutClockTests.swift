import Outputs
import RTPWire
import TestSupport
import Testing

/// When pictures leave, on a virtual clock.
struct PlayoutClockTests {
  /// What a sender does to its times, and a network to its packets.
  struct Play {
    /// How much faster the sender's clock runs, in millionths.
    var drift = 0.0
    /// The most that something comes too late.
    var jitter: Int64 = 0
    var interval: Int64 = 40_000_000
    var random = SeededGenerator(seed: 7)
    var clock = PlayoutClock(isLive: true)
    /// The times at which pictures left, and how much later than they came.
    var left: [Instant] = []
    var waits: [Int64] = []

    /// Sends `count` pictures from `first` on.
    mutating func run(_ first: Int, _ count: Int) throws {
      for number in first..<first + count {
        let media = Int64(number) * interval
        let sent = Double(media) / (1 + drift / 1e6)
        let late = jitter > 0 ? Int64.random(in: 0...jitter, using: &random) : 0
        let now = Instant(nanoseconds: 1_000_000_000_000 + Int64(sent) + late)
        clock.note(media, arrival: now, at: now)
        let due = try #require(clock.instant(of: media))
        left.append(max(due, now))
        waits.append(now.nanoseconds(to: max(due, now)))
      }
    }

    /// The distances between pictures that leave, from `first` on.
    func distances(from first: Int) -> [Int64] {
      zip(left[first...], left[(first + 1)...]).map { $0.nanoseconds(to: $1) }
    }
  }

  @Test("without jitter, pictures soon leave a millisecond after they come")
  func steady() throws {
    var play = Play()
    try play.run(0, 1500)
    #expect(play.waits.suffix(100).allSatisfy { $0 <= 1_100_000 })
    #expect(play.distances(from: 1400).allSatisfy { abs($0 - 40_000_000) < 10_000 })
  }

  @Test("jitter of a network is smoothed", arguments: [10, 50, 100] as [Int64])
  func jitter(milliseconds: Int64) throws {
    var play = Play(jitter: milliseconds * 1_000_000)
    try play.run(0, 3000)
    // After the greatest delay was seen, every picture leaves at its time.
    let distances = play.distances(from: 1500)
    #expect(distances.allSatisfy { abs($0 - 40_000_000) < 2_000_000 }, "\(distances.max() ?? 0)")
    #expect(play.clock.statistics.delay <= .milliseconds(max(milliseconds, 40) + 2))
  }

  @Test(
    "a clock that runs wrong is followed, and the delay does not grow",
    arguments: [-300, 300] as [Double])
  func drift(millionths: Double) throws {
    var play = Play(drift: millionths, jitter: 20_000_000)
    // A quarter of an hour, then an hour more.
    try play.run(0, 22_500)
    let early = play.waits[20_000...].max() ?? 0
    try play.run(22_500, 90_000)
    let late = play.waits[110_000...].max() ?? 0
    #expect(late <= early + 3_000_000, "\(early) \(late)")
    #expect(late < 35_000_000)
    let found = try #require(play.clock.statistics.drift)
    #expect(abs(found - millionths) < 5, "\(found)")
    // No gap, and no two at once.
    let nominal = 40_000_000 / (1 + millionths / 1e6)
    #expect(
      play.distances(from: 2000).allSatisfy { abs(Double($0) - nominal) < 2_000_000 })
    #expect(play.clock.statistics.restarts == 0)
  }

  @Test("what a server has stored does not make everything wait afterwards")
  func burst() throws {
    var play = Play()
    // Two seconds of pictures come at once.
    for number in 0..<50 {
      let now = Instant(nanoseconds: 1_000_000_000_000 + 2_000_000_000)
      play.clock.note(Int64(number) * play.interval, arrival: now, at: now)
    }
    try play.run(50, 1000)
    #expect(play.waits.last.map { $0 < 2_000_000 } == true, "\(play.waits.last ?? 0)")
  }

  @Test("a leap of the times is a new beginning", arguments: [-100, 100] as [Int64])
  func leap(seconds: Int64) throws {
    var play = Play()
    try play.run(0, 100)
    let now = try #require(play.left.last).advanced(by: .milliseconds(40))
    let media = 4_000_000_000 + seconds * 1_000_000_000
    play.clock.note(media, arrival: now, at: now)
    let due = try #require(play.clock.instant(of: media))
    #expect(now.duration(to: due) <= .milliseconds(50))
    #expect(play.clock.statistics.restarts == 1)
  }

  @Test("a recording leaves at its own pace, however fast it is read")
  func recording() {
    var clock = PlayoutClock(isLive: false)
    let now = Instant(nanoseconds: 50_000_000_000)
    for number in 0..<100 as Range<Int64> {
      clock.note(number * 40_000_000, arrival: Instant(nanoseconds: number * 40_000_000), at: now)
    }
    let due = (0..<100 as Range<Int64>).map { clock.instant(of: $0 * 40_000_000) }
    #expect(due == (0..<100).map { now.advanced(byNanoseconds: $0 * 40_000_000) })
  }

  @Test("a recording waits for a reader that stops, and goes on from there")
  func stalledReader() {
    var clock = PlayoutClock(isLive: false)
    let now = Instant(nanoseconds: 0)
    for number in 0..<10 as Range<Int64> {
      clock.note(number * 40_000_000, arrival: now, at: now)
    }
    let late = now.advanced(by: .seconds(9))
    clock.left(40_000_000, at: late)
    #expect(clock.instant(of: 80_000_000) == late.advanced(by: .milliseconds(40)))
    #expect(clock.statistics.restarts == 1)
  }
}
