import Bitstream
import BlockingIO
import Defragment
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
    /// Where the next pictures begin that are sent for some time.
    var end: Int64 = 0
    /// The times at which pictures left, and how much later than they came.
    var left: [Instant] = []
    var waits: [Int64] = []

    /// Sends `count` pictures from `first` on.
    mutating func run(_ first: Int, _ count: Int) {
      for number in first..<first + count { send(Int64(number) * interval) }
    }

    private mutating func send(_ media: Int64) {
      let sent = Double(media) / (1 + drift / 1e6)
      let late = jitter > 0 ? Int64.random(in: 0...jitter, using: &random) : 0
      let now = Instant(nanoseconds: 1_000_000_000_000 + Int64(sent) + late)
      let due = clock.instant(of: clock.note(media, arrival: now, at: now))
      left.append(max(due, now))
      waits.append(now.nanoseconds(to: max(due, now)))
    }

    /// Sends pictures of the next `seconds`, so far apart.
    mutating func run(for seconds: Int64, every interval: Int64) {
      let start = end
      end += seconds * 1_000_000_000
      for media in stride(from: start, to: end, by: Int(interval)) { send(media) }
    }

    /// The distances between pictures that leave, from `first` on.
    func distances(from first: Int) -> [Int64] {
      zip(left[first...], left[(first + 1)...]).map { $0.nanoseconds(to: $1) }
    }
  }

  @Test("without jitter, pictures soon leave a millisecond after they come")
  func steady() throws {
    var play = Play()
    play.run(0, 1500)
    #expect(play.waits.suffix(100).allSatisfy { $0 <= 1_100_000 })
    #expect(play.distances(from: 1400).allSatisfy { abs($0 - 40_000_000) < 10_000 })
  }

  @Test("jitter of a network is smoothed", arguments: [10, 50, 100] as [Int64])
  func jitter(milliseconds: Int64) throws {
    var play = Play(jitter: milliseconds * 1_000_000)
    play.run(0, 3000)
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
    play.run(0, 22_500)
    let early = play.waits[20_000...].max() ?? 0
    play.run(22_500, 90_000)
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

  @Test("a clock that runs wrong is followed for days", arguments: [-300, 300] as [Double])
  func days(millionths: Double) throws {
    var play = Play(drift: millionths, jitter: 20_000_000)
    play.run(for: 300, every: 40_000_000)
    let early = play.waits.suffix(2500).max() ?? 0
    for _ in 0..<3 {
      // Most of a day in few pictures, and then all those of two minutes.
      play.run(for: 86_280, every: 2_000_000_000)
      play.run(for: 120, every: 40_000_000)
      let late = play.waits.suffix(1500).max() ?? 0
      #expect(late <= early + 3_000_000 && late < 35_000_000, "\(early) \(late)")
      let nominal = 40_000_000 / (1 + millionths / 1e6)
      #expect(
        play.distances(from: play.left.count - 1500).allSatisfy {
          abs(Double($0) - nominal) < 2_000_000
        })
    }
    let found = try #require(play.clock.statistics.drift)
    #expect(abs(found - millionths) < 1, "\(found)")
    #expect(play.clock.statistics.restarts == 0)
  }

  @Test(
    "sound and pictures of one time leave together, whichever of them jitters",
    arguments: [(100, 0), (0, 100)])
  func inStep(sound: Int, pictures: Int) throws {
    var clock = PlayoutClock(isLive: true)
    var random = SeededGenerator(seed: 5)
    /// What comes, by its arrival.
    var coming: [(arrival: Int64, media: Int64, isSound: Bool)] = []
    for number in 0..<3000 as Range<Int64> {
      func late(_ jitter: Int) -> Int64 { Int64(random.integer(below: jitter * 1_000_000 + 1)) }
      let media = number * 20_000_000
      coming.append((media + late(sound), media, true))
      if number % 2 == 0 { coming.append((media + late(pictures), media, false)) }
    }
    coming.sort { $0.arrival < $1.arrival }
    var left: (sound: [Int64: Int64], pictures: [Int64: Int64]) = ([:], [:])
    for item in coming {
      let now = Instant(nanoseconds: 1_000_000_000_000 + item.arrival)
      let due = clock.instant(of: clock.note(item.media, arrival: now, at: now))
      let time = max(due, now).nanoseconds
      if item.isSound { left.sound[item.media] = time } else { left.pictures[item.media] = time }
    }
    // After the greatest delay was seen.
    let times = left.pictures.keys.filter { $0 > 10_000_000_000 }
    #expect(times.count > 1200)
    for time in times {
      let apart = try #require(left.sound[time]) - #require(left.pictures[time])
      #expect(abs(apart) < 20_000_000, "\(time): \(apart)")
    }
  }

  @Test("what a server has stored does not make everything wait afterwards")
  func burst() throws {
    var play = Play()
    // Two seconds of pictures come at once.
    for number in 0..<50 {
      let now = Instant(nanoseconds: 1_000_000_000_000 + 2_000_000_000)
      play.clock.note(Int64(number) * play.interval, arrival: now, at: now)
    }
    play.run(50, 1000)
    #expect(play.waits.last.map { $0 < 2_000_000 } == true, "\(play.waits.last ?? 0)")
  }

  @Test("a leap of the times is a new beginning", arguments: [-100, 100] as [Int64])
  func leap(seconds: Int64) throws {
    var play = Play()
    play.run(0, 100)
    let now = try #require(play.left.last).advanced(by: .milliseconds(40))
    let media = 4_000_000_000 + seconds * 1_000_000_000
    let due = play.clock.instant(of: play.clock.note(media, arrival: now, at: now))
    #expect(now.duration(to: due) <= .milliseconds(50))
    #expect(play.clock.statistics.restarts == 1)
  }

  @Test("a recording leaves at its own pace, however fast it is read")
  func recording() {
    var clock = PlayoutClock(isLive: false)
    let now = Instant(nanoseconds: 50_000_000_000)
    let tickets = (0..<100 as Range<Int64>).map {
      clock.note($0 * 40_000_000, arrival: Instant(nanoseconds: $0 * 40_000_000), at: now)
    }
    let due = tickets.map { clock.instant(of: $0) }
    #expect(due == (0..<100).map { now.advanced(byNanoseconds: $0 * 40_000_000) })
  }

  @Test(
    "a recording plays at another rate", arguments: [(2, 1), (1, 2), (30_000, 1001), (1, 1000)])
  func rate(_ numerator: UInt32, _ denominator: UInt32) {
    var clock = PlayoutClock(isLive: false, rate: Rational(numerator, denominator))
    let now = Instant(nanoseconds: 50_000_000_000)
    // Ten seconds of each are not there, which is no leap.
    let times = (0..<100 as Range<Int64>).map { ($0 + $0 / 50 * 250) * 40_000_000 }
    let tickets = times.map { clock.note($0, arrival: Instant(nanoseconds: $0), at: now) }
    for (time, ticket) in zip(times, tickets) {
      let played = Double(time) * Double(denominator) / Double(numerator)
      let wait = now.nanoseconds(to: clock.instant(of: ticket))
      #expect(abs(Double(wait) - played) <= 2)
    }
    #expect(clock.statistics.restarts == 0)
  }

  @Test("a recording waits for a reader that stops, and goes on from there")
  func stalledReader() {
    var clock = PlayoutClock(isLive: false)
    let now = Instant(nanoseconds: 0)
    let tickets = (0..<10 as Range<Int64>).map {
      clock.note($0 * 40_000_000, arrival: now, at: now)
    }
    let late = now.advanced(by: .seconds(9))
    clock.left(tickets[1], at: late)
    #expect(clock.instant(of: tickets[2]) == late.advanced(by: .milliseconds(40)))
    #expect(clock.statistics.restarts == 1)
  }

  static let leaps: [Int64] = [-536_000, -3600, -6, 6, 3600, 536_000]

  @Test("what waits when the times leap leaves when it would have left", arguments: leaps)
  func waitingAtALeap(seconds: Int64) {
    let first: Int64 = 600_000_000_000_000
    for isLive in [true, false] {
      var clock = PlayoutClock(isLive: isLive)
      let now = Instant(nanoseconds: 50_000_000_000)
      let waiting = (0..<5 as Range<Int64>).map {
        clock.note(first + $0 * 40_000_000, arrival: now, at: now)
      }
      let due = waiting.map { clock.instant(of: $0) }
      let new = clock.note(first + seconds * 1_000_000_000, arrival: now, at: now)
      #expect(waiting.map { clock.instant(of: $0) } == due)
      // What follows leaves after them, and a live source does not have to wait for that.
      #expect(clock.instant(of: new) >= (isLive ? now : due[4]))
      #expect(now.duration(to: clock.instant(of: new)) <= .milliseconds(160))
      #expect(clock.statistics.restarts == 1)
    }
  }

  @Test("pictures that were decoded while the sound leapt leave before the leap's")
  func overlap() {
    var clock = PlayoutClock(isLive: true)
    for number in 0..<100 as Range<Int64> {
      let now = Instant(nanoseconds: number * 20_000_000)
      let sound = clock.note(
        number * 20_000_000 + (number >= 50 ? 900_000_000_000 : 0), arrival: now, at: now)
      // Pictures are 100 ms later, and the sound waits for them.
      #expect(now.duration(to: clock.instant(of: sound)) <= .milliseconds(102))
      let picture = clock.note(
        number * 20_000_000 - 100_000_000 + (number >= 55 ? 900_000_000_000 : 0), arrival: now,
        at: now)
      #expect(now.duration(to: clock.instant(of: picture)) <= .milliseconds(41))
    }
    #expect(clock.statistics.restarts == 1)
  }

  @Test("nothing live waits longer than the longest delay, whatever its times are")
  func longestWait() {
    var clock = PlayoutClock(isLive: true)
    var random = SeededGenerator(seed: 3)
    for number in 0..<10_000 as Range<Int64> {
      let now = Instant(nanoseconds: number * 10_000_000)
      let media = Int64(bitPattern: random.next()) >> Int64(random.integer(below: 63))
      let ticket = clock.note(media, arrival: now, at: now)
      #expect(now.duration(to: clock.instant(of: ticket)) <= PlayoutClock.longestDelay)
    }
    // A network that was slow for long, and is not any more.
    var play = Play(clock: PlayoutClock(isLive: true))
    play.run(0, 1000)
    for number in 1000..<1100 as Range<Int64> {
      let now = Instant(nanoseconds: 997_000_000_000 + number * 40_000_000)
      let ticket = play.clock.note(number * 40_000_000, arrival: now, at: now)
      #expect(now.duration(to: play.clock.instant(of: ticket)) <= PlayoutClock.longestDelay)
    }
  }

  @Test("an output goes on at once where the sound gets the times of the pictures")
  func output() async throws {
    let folder = try TemporaryFolder()
    let playout = Playout(isLive: true)
    let format = try #require(catalogue.format(named: "pcm"))
    var configuration = OutputLane.Configuration(target: .path(folder("a.pcm")), format: format)
    configuration.playout = playout
    let lane = try OutputLane(configuration)
    var units = RecordedSoundTests.clicks(seconds: 1)
    for (index, second) in [536_000, 536_000, 47, 47].enumerated() {
      units[index].alignedTime = MediaTime(
        ticks: Int64(second) * 8000 + Int64(index) * 160, timescale: 8000)
      lane.write(units[index], at: playout.note(units[index], at: .now))
    }
    try await eventually { lane.counters.written == 4 }
    #expect(await lane.finish().error == nil)
  }

  @Test("no times whatever trap, or hold anything live back", arguments: fuzzSeeds, [true, false])
  func anyTimes(_ seed: UInt64, _ isLive: Bool) {
    var random = SeededGenerator(seed: seed)
    func any() -> Int64 { Int64(truncatingIfNeeded: random.next()) >> random.integer(below: 64) }
    var clock = PlayoutClock(isLive: isLive, rate: seed % 2 == 0 ? Rational(1, 3) : nil)
    var media = any()
    var arrival = any()
    var now: Int64 = 1_000_000_000_000
    for _ in 0..<5000 {
      switch random.integer(below: 12) {
      case 0: media = any()
      case 1: arrival = any()
      case 2: now += Int64(random.integer(below: 100_000_000_000))
      case 3: media = random.integer(below: 2) == 0 ? Int64.min : Int64.max
      default:
        media = media.addingSaturating(40_000_000)
        arrival = arrival.addingSaturating(40_000_000)
        now += 40_000_000
      }
      let instant = Instant(nanoseconds: now)
      let ticket = clock.note(media, arrival: Instant(nanoseconds: arrival), at: instant)
      let due = clock.instant(of: ticket)
      if isLive { #expect(instant.duration(to: due) <= PlayoutClock.longestDelay) }
      clock.left(ticket, at: max(due, instant))
    }
  }
}
